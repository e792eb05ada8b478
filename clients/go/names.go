package airlock

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	pb "airlock.example/airlock/airlockpb"
)

// nameOf returns the lower-case name of an enum's value without the enum's prefix.
func nameOf(value protoreflect.Enum, prefix string) string {
	known := value.Descriptor().Values().ByNumber(value.Number())
	if known == nil {
		return fmt.Sprintf("unknown_%d", value.Number())
	}
	return strings.ToLower(strings.TrimPrefix(string(known.Name()), prefix))
}

func stateName(state pb.ExecutionState) string { return nameOf(state, "EXECUTION_STATE_") }

// textOf returns a text, or its bytes if they are not UTF-8.
func textOf(text string, exact []byte) string {
	if len(exact) > 0 {
		return string(exact)
	}
	return text
}
