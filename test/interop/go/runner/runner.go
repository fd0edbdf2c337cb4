// Package runner runs the cases of one client and prints the result of each as a line of JSON.
package runner

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"regexp"
	"time"
)

const caseTimeout = 30 * time.Second

// Target is the server of this client, from its command line. Token is empty if the server requires no credential.
type Target struct {
	URL, Binding, Token string
}

// Case is one case. Run returns an error if the case fails.
type Case struct {
	Name string
	Run  func(ctx context.Context) error
}

// ReadTarget returns the target in the command line.
func ReadTarget() Target {
	url, binding, token := flag.String("url", "", ""), flag.String("binding", "", ""), flag.String("token", "", "")
	flag.Parse()
	return Target{*url, *binding, *token}
}

// RunCases runs the cases one after the other.
func RunCases(cases []Case) {
	for _, each := range cases {
		ctx, cancel := context.WithTimeout(context.Background(), caseTimeout)
		err := each.Run(ctx)
		cancel()
		result := map[string]any{"case": each.Name, "passed": err == nil}
		if err != nil {
			result["error"] = err.Error()
		}
		if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
			panic(err)
		}
	}
}

// ReadAll reads a stream to its end or to its first error. A stream without an element is an error.
func ReadAll[E any](stream iter.Seq2[E, error]) ([]E, error) {
	var elements []E
	for element, err := range stream {
		if err != nil {
			return elements, err
		}
		elements = append(elements, element)
	}
	if len(elements) == 0 {
		return nil, errors.New("the stream is empty")
	}
	return elements, nil
}

// Check returns an error with the text if the condition is false.
func Check(condition bool, format string, values ...any) error {
	if condition {
		return nil
	}
	return fmt.Errorf(format, values...)
}

// ExpectError returns an error unless err is an error of the expected type. A nil type stands for any error with the pattern.
func ExpectError(err, expected error, pattern string) error {
	if err == nil {
		return errors.New("the operation succeeded")
	}
	if expected != nil && !errors.Is(err, expected) {
		return fmt.Errorf("the error is not %q: %w", expected, err)
	}
	if !regexp.MustCompile(pattern).MatchString(err.Error()) {
		return fmt.Errorf("the error is not %q: %w", pattern, err)
	}
	return nil
}
