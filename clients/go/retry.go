package airlock

import (
	"context"
	"errors"
	"math/rand"
	"time"
)

// A connection that lasted this long counts as a success.
const held = time.Second

// Patience has the times for which a client retries without success, and its pauses. A field that is 0 has its default.
type Patience struct {
	// Call is the time for a call or for the start of a command. Default: 20 s, or 5 s for a local `airlock dev`.
	Call time.Duration
	// View is the time for a view of an execution, since its last event. Default: 2 minutes.
	View time.Duration
	// Silence is the time for a download or an output reader that receives nothing new on an open connection. Default: 10
	// minutes.
	Silence time.Duration
	// BackoffFirst is the pause before the first retry; it doubles with each retry. Default: 50 ms.
	BackoffFirst time.Duration
	// BackoffMax is the longest pause between two attempts. Default: 3 s.
	BackoffMax time.Duration
}

func (p Patience) withDefaults(call time.Duration) Patience {
	for _, one := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&p.Call, call},
		{&p.View, 2 * time.Minute},
		{&p.Silence, 10 * time.Minute},
		{&p.BackoffFirst, 50 * time.Millisecond},
		{&p.BackoffMax, 3 * time.Second},
	} {
		if *one.field == 0 {
			*one.field = one.value
		}
	}
	return p
}

// retries counts the attempts since the last success.
type retries struct {
	patience Patience
	step     time.Duration
	since    time.Time
}

func newRetries(patience Patience) *retries {
	return &retries{patience: patience, step: patience.BackoffFirst}
}

// reset records a success: the next pause is the shortest again.
func (r *retries) reset() { r.step, r.since = r.patience.BackoffFirst, time.Time{} }

// heldSince records that a connection that was open since a time broke. If it lasted, it counts as a success.
func (r *retries) heldSince(began time.Time) {
	if !began.IsZero() && time.Since(began) >= held {
		r.reset()
	}
}

// pause returns the pause after an error, and false if no attempt has succeeded within the limit.
func (r *retries) pause(err error, limit time.Duration) (time.Duration, bool) {
	now := time.Now()
	if r.since.IsZero() {
		r.since = now
	}
	left := limit - now.Sub(r.since)
	if left < 0 {
		return 0, false
	}
	pause := r.step/2 + time.Duration(rand.Int63n(int64(r.step/2)+1))
	r.step = shorter(r.step*2, r.patience.BackoffMax)
	var e *Error
	if errors.As(err, &e) && e.RetryAfter > pause {
		pause = e.RetryAfter
	}
	if left < r.patience.BackoffFirst {
		left = r.patience.BackoffFirst
	}
	return shorter(shorter(pause, r.patience.BackoffMax), left), true
}

// outlast pauses if the error may pass. It returns the error if it may not, or if the time is over.
func (r *retries) outlast(ctx context.Context, err error, limit time.Duration) error {
	if !isPassing(err) {
		return err
	}
	pause, ok := r.pause(err, limit)
	if !ok {
		return err
	}
	return sleep(ctx, pause)
}

// retrying repeats a call that is safe to repeat, until it succeeds, fails permanently, or reaches its time limit.
func retrying(ctx context.Context, patience Patience, call func() error) error {
	retries := newRetries(patience)
	for {
		err := call()
		if err == nil {
			return nil
		}
		if err := retries.outlast(ctx, err, patience.Call); err != nil {
			return err
		}
	}
}

// sleep pauses, and returns the error of the context if it ends before.
func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return stopped(ctx)
	}
}

func shorter(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}
