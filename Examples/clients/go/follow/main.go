// Follow appends what happens in a store to a file, one JSON line for each reply of the daemon.
//
//	follow                      lists the stores
//	follow DB FILE [OBJECT...]  follows one; of held objects ("Album/348") it prints each notice
//
// A line with a token ends what is processed: effect and position are one write. Killed at any moment and started
// again, this misses nothing and repeats nothing.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"syncd.example/client/syncd"
)

// log is the file. Lines behind the last token are parts of a transaction that will be sent again.
type log struct {
	file          *os.File
	token         string
	end, position int64
}

func openLog(path string) (*log, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	result := &log{file: file}
	position := int64(0)
	for _, line := range bytes.SplitAfter(text, []byte{'\n'}) {
		position += int64(len(line))
		var reply struct{ Token string }
		if bytes.HasSuffix(line, []byte{'\n'}) {
			if err := json.Unmarshal(line, &reply); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			if reply.Token != "" {
				result.token, result.end = reply.Token, position
			}
		}
	}
	return result, result.cut()
}

func (l *log) cut() error {
	l.position = l.end
	return l.file.Truncate(l.end)
}

func (l *log) append(reply syncd.Reply) error {
	transaction := reply.Transaction
	beginsTransaction := transaction != nil && (transaction.Part == nil || transaction.Part.Index == 0)
	if beginsTransaction && l.position > l.end {
		if err := l.cut(); err != nil {
			return err
		}
	}
	written, err := l.file.Write(append(append([]byte{}, reply.JSON...), '\n'))
	l.position += int64(written)
	if err == nil && reply.Token != "" {
		l.token, l.end = reply.Token, l.position
	}
	return err
}

func printStores(client *syncd.Client) error {
	stores, err := client.Stores()
	for _, store := range stores {
		reason := ""
		if store.Error != nil {
			reason = store.Error.Reason
		}
		fmt.Println(store.Path, store.State, reason)
	}
	return err
}

func printNotices(notices []map[string]json.RawMessage) {
	for _, notice := range notices {
		for kind, text := range notice {
			var about struct{ Object string }
			if string(text) != "null" && json.Unmarshal(text, &about) == nil {
				fmt.Println(kind, about.Object)
			}
		}
	}
}

func follow(client *syncd.Client, store, path string, objects []string) error {
	log, err := openLog(path)
	if err != nil {
		return err
	}
	store, err = filepath.Abs(store)
	if err != nil {
		return err
	}
	options := syncd.Options{After: log.token, Hold: objects}
	return client.Follow(context.Background(), store, options, func(reply syncd.Reply) error {
		if reply.Subscription != "" && log.token != "" {
			return nil // connected again: it is where the log ends
		}
		if err := log.append(reply); err != nil {
			return err
		}
		printNotices(reply.Notices)
		return nil
	})
}

func main() {
	client := syncd.NewClient("")
	var err error
	switch arguments := os.Args[1:]; {
	case len(arguments) == 0:
		err = printStores(client)
	case len(arguments) >= 2:
		err = follow(client, arguments[0], arguments[1], arguments[2:])
	default:
		err = errors.New("usage: follow [DB FILE [OBJECT...]]")
	}
	var known *syncd.Error
	if errors.As(err, &known) {
		advice := ""
		if known.NeedsResync() {
			advice = ". Read the rows again and begin a new file"
		}
		err = fmt.Errorf("%s: %w%s", known.Code, known, advice)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
