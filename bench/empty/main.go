// Command empty does nothing. It shows what any Go program costs at least.
package main

func main() {}
