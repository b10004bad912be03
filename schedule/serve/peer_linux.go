package serve

import "golang.org/x/sys/unix"

// peerCredentials returns the id of the user at the other end of a socket: SO_PEERCRED, unix(7).
func peerCredentials(fd int) (uid int, err error) {
	user, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(user.Uid), nil
}
