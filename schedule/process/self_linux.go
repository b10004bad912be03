package process

// Self is the program that runs here, also after another one was installed in its place.
func Self() string { return "/proc/self/exe" }
