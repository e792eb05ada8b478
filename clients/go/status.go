package airlock

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The server's own errors always have an ErrorInfo. Without one, the library made these codes for a broken connection.
var broken = map[codes.Code]bool{
	codes.Unavailable: true, codes.Unknown: true, codes.Internal: true, codes.Canceled: true, codes.DeadlineExceeded: true,
}

var kindByReason = map[string]Kind{
	"DENIED":            KindDenied,
	"APPROVAL_REQUIRED": KindApprovalRequired,
	"SESSION_CLOSED":    KindSessionClosed,
	"SESSION_LOST":      KindSessionClosed,
	"SESSION_NOT_OPEN":  KindSessionClosed,
}

var kindByCode = map[codes.Code]Kind{
	codes.Unauthenticated:   KindUnauthenticated,
	codes.PermissionDenied:  KindForbidden,
	codes.InvalidArgument:   KindInvalidRequest,
	codes.NotFound:          KindNotFound,
	codes.ResourceExhausted: KindLimitReached,
	codes.Unimplemented:     KindUnsupported,
}

// fromStatus returns the error for a failed call to an address.
func fromStatus(address string, failed error) *Error {
	answer := status.Convert(failed)
	code := answer.Code()
	message := oneLine(answer.Message())
	if message == "" {
		message = strings.ToLower(code.String())
	}
	made := &Error{Code: code, Message: message, cause: failed}
	info := details(answer, made)
	if info == nil && broken[code] {
		made := newError(KindUnreachable, "no answer from "+address+": "+message)
		made.cause = failed
		return made
	}
	made.Kind = KindRejected
	if kind, ok := kindByCode[code]; ok {
		made.Kind = kind
	}
	if kind, ok := kindByReason[info.GetReason()]; ok {
		made.Kind = kind
	}
	if made.Kind == KindUnsupported {
		made.Message = "the server at " + address + " does not support this call: " + message
	}
	made.Reason, made.Remedy = info.GetReason(), remedies[made.Kind]
	made.Metadata, made.ExecutionID = info.GetMetadata(), info.GetMetadata()["execution_id"]
	return made
}

// details adds the violations and the time of a retry to the error, and returns the ErrorInfo if there is one.
func details(answer *status.Status, made *Error) *errdetails.ErrorInfo {
	var info *errdetails.ErrorInfo
	for _, detail := range answer.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			info = detail
		case *errdetails.RetryInfo:
			made.RetryAfter = detail.GetRetryDelay().AsDuration()
		case *errdetails.BadRequest:
			for _, one := range detail.GetFieldViolations() {
				made.Violations = append(made.Violations, FieldViolation{one.GetField(), one.GetDescription()})
			}
		}
	}
	return info
}

// stopped returns the error of a call whose context has ended, or nil.
func stopped(ctx context.Context) error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Kind: KindDeadline, Message: "the deadline expired before the call was complete", cause: err}
	default:
		return err
	}
}

// oneLine returns the text without control characters, which must not reach a terminal.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, strings.TrimSpace(text))
}
