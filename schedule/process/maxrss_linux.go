package process

// MaxrssUnit is the unit of ru_maxrss (getrusage(2)), in bytes.
const MaxrssUnit = 1024
