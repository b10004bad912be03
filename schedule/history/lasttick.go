package history

import (
	"os"
	"path/filepath"
	"time"
)

const minuteLayout = "2006-01-02T15:04:00Z"

func lastTickPath(state string) string { return filepath.Join(state, "last-tick") }

// LastTick returns the last minute that a tick covered with this state folder; zero when none ever did.
func LastTick(state string) time.Time {
	text, _ := os.ReadFile(lastTickPath(state))
	minute, _ := time.Parse(minuteLayout+"\n", string(text))
	return minute
}

// Cover writes down that a tick covers the minute.
func Cover(state string, minute time.Time) error {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	return os.WriteFile(lastTickPath(state), []byte(minute.UTC().Format(minuteLayout)+"\n"), 0o600)
}
