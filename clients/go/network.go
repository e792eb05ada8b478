package airlock

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"

	pb "airlock.example/airlock/airlockpb"
)

// requireNetwork returns KindUnsupported if the server does not know network rules, because it would ignore them. A start
// without a command is always refused, and the refusal names every invalid field that the server knows.
func (c *connection) requireNetwork(ctx context.Context) error {
	if c.knowsNetwork.Load() {
		return nil
	}
	spec := &pb.ExecutionSpec{Network: &pb.NetworkRules{Allow: []string{"://"}}}
	_, err := c.executions(callTimeout).Start(ctx, &pb.ExecutionServiceStartRequest{Spec: spec})
	var own *Error
	if err != nil && (!errors.As(err, &own) || own.Kind != KindInvalidRequest) {
		return err
	}
	if own != nil {
		for _, one := range own.Violations {
			if strings.HasPrefix(one.Field, "spec.network") {
				c.knowsNetwork.Store(true)
				return nil
			}
		}
	}
	made := newError(KindUnsupported, "the server at "+c.target().address+" does not support network rules")
	made.Code = codes.Unimplemented
	return made
}
