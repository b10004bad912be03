package api

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// peerUser is the id of the user at the other end of a socket (SO_PEERCRED, unix(7)).
func peerUser(socket *net.UnixConn) (uid int, err error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var credentials *unix.Ucred
	var cerr error
	err = raw.Control(func(fd uintptr) {
		credentials, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil || cerr != nil {
		return 0, errors.Join(err, cerr)
	}
	return int(credentials.Uid), nil
}
