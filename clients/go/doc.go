// Package airlock is a client for Airlock, which runs the shell commands of AI agents in a sandbox.
//
//	client, err := airlock.Connect(ctx, airlock.Settings{})
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	sandbox, err := client.Session(ctx, airlock.SessionOptions{})
//	if err != nil {
//		return err
//	}
//	defer sandbox.Close(ctx)
//	result, err := sandbox.Run(ctx, "make test", airlock.Options{Stdout: os.Stdout})
//
// Every call ends with its context: with context.Canceled, or with an error of the kind KindDeadline. A broken connection
// is re-established, and the call continues where it was. Every other error is an *Error; its kind is the same in every
// Airlock client.
//
// States and names are lower-case text, such as "running" or "timed_out". A value of a later version of the contract is
// "unknown_" and its number. The fields named Raw have the message with every field.
//
// A text from the sandbox, such as a path, can have bytes that are not UTF-8. They are kept.
package airlock
