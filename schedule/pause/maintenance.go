package pause

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Maintenance returns in words that the maintenance file of a schedule exists; "" where it does
// not, or there is none (""). The folder is that of the schedule. After an error it is not known.
func Maintenance(file, folder string) (reason string, err error) {
	if file == "" {
		return "", nil
	}
	_, err = os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("nobody knows whether there is maintenance: %w", err)
	}
	shown, rerr := filepath.Rel(folder, file)
	if rerr != nil || shown == ".." || strings.HasPrefix(shown, "../") {
		shown = file
	}
	return "maintenance: " + shown + " exists", nil
}
