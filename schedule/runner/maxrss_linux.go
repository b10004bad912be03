package runner

// maxrssUnit is the unit of ru_maxrss (getrusage(2)), in bytes.
const maxrssUnit = 1024
