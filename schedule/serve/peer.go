package serve

import (
	"context"
	"errors"
	"net"

	"sched/schedule/view"
)

type peerKey struct{}

// peerOf returns the user at the other end of a socket; false for a connection by TCP.
func peerOf(ctx context.Context) (user string, ok bool) {
	user, ok = ctx.Value(peerKey{}).(string)
	return user, ok
}

func peerName(socket *net.UnixConn) string {
	uid, err := peerUser(socket)
	if err != nil {
		return "socket"
	}
	return view.UserName(uid)
}

func peerUser(socket *net.UnixConn) (uid int, err error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cerr error
	err = raw.Control(func(fd uintptr) { uid, cerr = peerCredentials(int(fd)) })
	return uid, errors.Join(err, cerr)
}
