package airlock

import "time"

// SetLook sets the interval between two checks of the credential files, for a test.
func SetLook(interval time.Duration) (restore func()) {
	before := look
	look = interval
	return func() { look = before }
}

// Within returns a path that is relative to a directory unless it is absolute.
func Within(directory, path string) string { return within(directory, path) }
