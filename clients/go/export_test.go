package airlock

import "time"

// SetLook sets the interval between two checks of the credential files, for a test.
func SetLook(interval time.Duration) (restore func()) {
	before := look
	look = interval
	return func() { look = before }
}
