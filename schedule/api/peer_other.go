//go:build !linux

package api

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// peerUser is the id of the user at the other end of a socket (LOCAL_PEERCRED, unix(4)).
func peerUser(socket *net.UnixConn) (uid int, err error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var credentials *unix.Xucred
	var cerr error
	err = raw.Control(func(fd uintptr) {
		credentials, cerr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	})
	if err != nil || cerr != nil {
		return 0, errors.Join(err, cerr)
	}
	return int(credentials.Uid), nil
}
