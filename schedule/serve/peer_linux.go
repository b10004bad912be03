package serve

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// peerCredentials returns the id of the user at the other end of a socket: SO_PEERCRED, unix(7).
func peerCredentials(fd int) (uid int, err error) {
	user, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(user.Uid), nil
}

// loopbackUser returns the id of the user who opened a connection of this machine, as proc_net(5)
// has it; "" if no process has the other end any more. The error is for a system that does not say.
func loopbackUser(client, server netip.AddrPort) (uid string, err error) {
	v6 := func(a netip.AddrPort) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr().As16()), a.Port())
	}
	if client.Addr().Is4() {
		if uid, err = userInTable("/proc/net/tcp", client, server); uid != "" || err != nil {
			return uid, err
		}
	}
	uid, err = userInTable("/proc/net/tcp6", v6(client), v6(server)) // a socket for both may be connected by IPv4
	if errors.Is(err, os.ErrNotExist) && client.Addr().Is4() {
		return "", nil // a kernel without IPv6
	}
	return uid, err
}

func userInTable(path string, client, server netip.AddrPort) (uid string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	const established, local, remote, state, user, inode = "01", 1, 2, 3, 7, 9
	from, to := inTable(client), inTable(server)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) > inode && f[local] == from && f[remote] == to && f[state] == established && f[inode] != "0" {
			return f[user], nil
		}
	}
	return "", lines.Err()
}

// inTable writes an address as the tables of connections have it: words in the order of the
// machine.
func inTable(a netip.AddrPort) (text string) {
	for bytes := a.Addr().AsSlice(); len(bytes) > 0; bytes = bytes[4:] {
		text += fmt.Sprintf("%08X", binary.NativeEndian.Uint32(bytes))
	}
	return text + fmt.Sprintf(":%04X", a.Port())
}
