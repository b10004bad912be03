// Command empty does nothing: what any Go program costs at least.
package main

func main() {}
