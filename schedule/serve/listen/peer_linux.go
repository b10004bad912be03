package listen

import "golang.org/x/sys/unix"

// credentials returns the id of the user at the other end of a socket: SO_PEERCRED, unix(7).
func credentials(fd int) (uid int, err error) {
	user, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(user.Uid), nil
}
