package airlock_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// object is an object of JSON.
type object = map[string]interface{}

// normal returns a value as JSON has it: numbers are float64, and lists are []interface{}.
func normal(t *testing.T, value interface{}) interface{} {
	t.Helper()
	content, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var made interface{}
	if err := json.Unmarshal(content, &made); err != nil {
		t.Fatal(err)
	}
	return made
}

// resolved returns the value with saved values in it.
func resolved(value interface{}, saved object) interface{} {
	switch value := value.(type) {
	case string:
		return resolvedText(value, saved)
	case object:
		if text, ok := value["repeat"].(string); ok {
			return strings.Repeat(text, int(value["times"].(float64)))
		}
		made := object{}
		for key, one := range value {
			made[key] = resolved(one, saved)
		}
		return made
	case []interface{}:
		made := make([]interface{}, len(value))
		for i, one := range value {
			made[i] = resolved(one, saved)
		}
		return made
	}
	return value
}

func resolvedText(text string, saved object) interface{} {
	if strings.HasPrefix(text, "$tmp/") {
		return saved["tmp"].(string) + strings.TrimPrefix(text, "$tmp")
	}
	if !strings.HasPrefix(text, "$") {
		return text
	}
	var found interface{} = saved
	for _, key := range strings.Split(text[1:], ".") {
		found = found.(object)[key]
	}
	return found
}

// difference returns the first difference, or an empty string if the response matches.
func difference(expected, got interface{}, at string) string {
	switch expected := expected.(type) {
	case object:
		if problem, ok := condition(expected, got, at); ok {
			return problem
		}
		members, ok := got.(object)
		if !ok && got != nil {
			return fmt.Sprintf("%s: %v is not an object", at, got)
		}
		for key, one := range expected {
			if problem := difference(one, members[key], at+"."+key); problem != "" {
				return problem
			}
		}
		return ""
	case []interface{}:
		elements, _ := got.([]interface{})
		if len(elements) != len(expected) {
			return fmt.Sprintf("%s: %v is not %v", at, got, expected)
		}
		for i, one := range expected {
			if problem := difference(one, elements[i], fmt.Sprintf("%s[%d]", at, i)); problem != "" {
				return problem
			}
		}
		return ""
	}
	if !reflect.DeepEqual(expected, got) {
		return fmt.Sprintf("%s: %#v is not %#v", at, got, expected)
	}
	return ""
}

// condition returns the difference if the object is a condition.
func condition(expected object, got interface{}, at string) (string, bool) {
	failed := fmt.Sprintf("%s: no %v in %#v", at, expected, got)
	holds, ok := false, true
	if pattern, is := expected["$match"].(string); is {
		text, isText := got.(string)
		holds = isText && regexp.MustCompile(pattern).MatchString(text)
	} else if part, is := expected["$contains"]; is {
		holds = contains(part, got)
	} else if least, is := expected["$at_least"].(float64); is {
		number, isNumber := got.(float64)
		holds = isNumber && number >= least
	} else {
		ok = false
	}
	if holds || !ok {
		return "", ok
	}
	return failed, true
}

func contains(part, got interface{}) bool {
	if text, ok := got.(string); ok {
		return strings.Contains(text, part.(string))
	}
	elements, _ := got.([]interface{})
	for _, one := range elements {
		if difference(part, one, "") == "" {
			return true
		}
	}
	return false
}

// The comparison must be able to fail.
func TestDifference(t *testing.T) {
	for _, one := range []struct {
		expected, got string
		same          bool
	}{
		{`{"a": 1}`, `{"a": 1, "b": 2}`, true},
		{`{"a": 1}`, `{"a": 2}`, false},
		{`{"a": null}`, `{"a": 2}`, false},
		{`{"a": []}`, `{"a": [1]}`, false},
		{`[1, {"b": 2}]`, `[1, {"b": 2, "c": 3}]`, true},
		{`[1]`, `[1, 2]`, false},
		{`{"$match": "^b"}`, `"abc"`, false},
		{`{"$match": "b"}`, `"abc"`, true},
		{`{"$match": "b"}`, `null`, false},
		{`{"$contains": "bc"}`, `"abc"`, true},
		{`{"$contains": {"a": 1}}`, `[{"a": 2}, {"a": 1}]`, true},
		{`{"$contains": {"a": 1}}`, `[{"a": 2}]`, false},
		{`{"$at_least": 2}`, `1`, false},
		{`{"$at_least": 2}`, `2`, true},
		{`{"a": 1}`, `[]`, false},
		{`"a"`, `"b"`, false},
	} {
		problem := difference(normal(t, json.RawMessage(one.expected)), normal(t, json.RawMessage(one.got)), "x")
		if (problem == "") != one.same {
			t.Errorf("%s and %s: %q", one.expected, one.got, problem)
		}
	}
}
