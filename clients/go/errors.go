package airlock

import (
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

// Kind is the name of a class of errors, the same in every Airlock client. It is a target for errors.Is.
type Kind string

// The kinds of errors.
const (
	// KindSettings: the connection settings or options are missing or invalid. No request was sent.
	KindSettings Kind = "settings"
	// KindUnreachable: no response arrived. There was no connection, or it broke.
	KindUnreachable Kind = "unreachable"
	// KindUntrusted: TLS failed. The server's certificate is not trusted, or the server refuses this client's certificate.
	KindUntrusted Kind = "untrusted"
	// KindUnauthenticated: the server does not accept the credentials. They are missing, unknown or expired.
	KindUnauthenticated Kind = "unauthenticated"
	// KindForbidden: the caller's roles do not permit the call.
	KindForbidden Kind = "forbidden"
	// KindDenied: policy or a person denied the command. It did not run.
	KindDenied Kind = "denied"
	// KindApprovalRequired: policy asks for a person, and the request did not wait for one. The command did not run. An
	// error of this kind is a KindDenied for errors.Is.
	KindApprovalRequired Kind = "approval_required"
	// KindInvalidRequest: the request has invalid fields. Error.Violations lists all of them.
	KindInvalidRequest Kind = "invalid_request"
	// KindNotFound: the profile, session, execution, approval or file does not exist, or belongs to another tenant.
	KindNotFound Kind = "not_found"
	// KindSessionClosed: the session is closed or lost, or not open yet.
	KindSessionClosed Kind = "session_closed"
	// KindLimitReached: a limit is reached. Error.Metadata["limit"] names it.
	KindLimitReached Kind = "limit_reached"
	// KindUnsupported: the server is older than this client and lacks a method or field.
	KindUnsupported Kind = "unsupported"
	// KindRejected: the server responded with any other error.
	KindRejected Kind = "rejected"
	// KindStartUnknown: a start was sent and no response arrived. The command may run, may have run, or may never run.
	KindStartUnknown Kind = "start_unknown"
	// KindViewLost: the view of an execution broke repeatedly. The result of the execution is unknown.
	KindViewLost Kind = "view_lost"
	// KindDeadline: the context's deadline expired before the call was complete.
	KindDeadline Kind = "deadline"
	// KindLocal: a local file or connection failed.
	KindLocal Kind = "local"
	// KindArchive: a received archive was refused, or is in the way of local files. It is a KindLocal for errors.Is.
	KindArchive Kind = "archive"
	// KindContract: the server's response violates the contract.
	KindContract Kind = "contract"
)

// Error returns the name of the kind.
func (k Kind) Error() string { return string(k) }

var remedies = map[Kind]string{
	KindUnreachable: "check that the server is running and can be reached from this host",
	KindUntrusted: "check that the CA file has the CA of the server's certificate, and that the certificate names this " +
		"address",
	KindUnauthenticated:  "check that the token or certificate is a current one of this server",
	KindForbidden:        "ask the operator for the role that the message names",
	KindInvalidRequest:   "correct the fields that Violations names",
	KindNotFound:         "check the name or the ID",
	KindSessionClosed:    "create another session",
	KindUnsupported:      "upgrade the server, or do not use this feature",
	KindDenied:           "use another command, or ask the operator for a rule that allows it",
	KindApprovalRequired: "run it with OnAsk: airlock.OnAskWait, and let an approver answer",
	KindStartUnknown:     "repeat the start with the same request ID; it returns the execution, if there is one",
	KindViewLost:         "attach to the execution with the cursor",
	KindContract:         "report it: this is a bug in the server, or something else answers at this address",
}

// Span is a range of byte offsets into a command. The end is exclusive.
type Span struct{ Start, End int }

// FieldViolation is an invalid field of a request.
type FieldViolation struct {
	// Field is the path of the field in the request.
	Field string
	// Description is the problem with the field.
	Description string
}

// Error is an error of this package. Find it with errors.As, or compare its kind with errors.Is(err, airlock.KindDenied).
type Error struct {
	Kind Kind
	// Message is the problem, in one line.
	Message string
	// Reason is the stable name of the problem from the server, such as "APPROVAL_REQUIRED", or empty.
	Reason string
	// Remedy is what to do, or empty.
	Remedy string
	// ExecutionID is the execution that the error refers to, if there is one.
	ExecutionID string
	// Span is the part of the command that decided, for a denied command.
	Span *Span
	// Result is the result of a denied execution, with its decision, if it could be read.
	Result *Result
	// Code is the gRPC code of the server's error. It is OK for an error that the server did not send.
	Code codes.Code
	// Violations are all invalid fields of the request.
	Violations []FieldViolation
	// RetryAfter is the time after which a retry may succeed, if the server sent one.
	RetryAfter time.Duration
	// Metadata are the remaining details of the server's error.
	Metadata map[string]string
	// RequestID is the key of the start, for KindStartUnknown.
	RequestID string
	// Cursor is the position to attach with, for KindViewLost. Empty: from the beginning.
	Cursor []byte

	cause error
}

// Error returns the message, and the remedy unless the message has it.
func (e *Error) Error() string {
	if e.Remedy == "" || strings.Contains(e.Message, e.Remedy) {
		return e.Message
	}
	return e.Message + "; " + e.Remedy
}

// Unwrap returns the cause, such as context.DeadlineExceeded or an error of the file system.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether the target is the error's kind.
func (e *Error) Is(target error) bool {
	kind, ok := target.(Kind)
	return ok && (kind == e.Kind ||
		kind == KindDenied && e.Kind == KindApprovalRequired ||
		kind == KindLocal && e.Kind == KindArchive)
}

// Text returns the text for a model if the command was denied: the refusal and its reason. Otherwise it is empty.
func (e *Error) Text() string {
	switch {
	case !e.Is(KindDenied):
		return ""
	case e.Result != nil:
		return e.Result.Text
	}
	return notePrefix + e.Message + "; it did not run\n"
}

// newError returns an error with the remedy of its kind.
func newError(kind Kind, message string) *Error {
	return &Error{Kind: kind, Message: message, Remedy: remedies[kind]}
}

func settingsError(message, remedy string) *Error {
	return &Error{Kind: KindSettings, Message: message, Remedy: remedy}
}

// localError returns an error for a failed operation on a local file or connection.
func localError(message string, cause error) *Error {
	return &Error{Kind: KindLocal, Message: message + ": " + cause.Error(), cause: cause}
}

// isPassing reports whether the same call may succeed soon and is safe to repeat.
func isPassing(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Kind == KindUnreachable || e.Code == codes.Unavailable
}
