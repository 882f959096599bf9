// Package syncd is a client of syncd: one file, nothing but the standard library of Go 1.19 or later. Copy it.
//
//	client := syncd.NewClient("")
//	stores, err := client.Stores()
//	err = client.Follow(ctx, "/srv/music.db", syncd.Options{After: token}, func(reply syncd.Reply) error {
//		...
//	})
//
// The interface is org.syncd.Store; docs/clients.md explains what crosses the socket.
package syncd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	interfacePrefix = "org.syncd.Store."
	// A reply of the daemon has about 1 MiB at most: what is longer is no reply.
	messageBytesMax = 16 << 20
	// Before a lost connection is made again: doubled from the least to the most.
	retryDelayMin = 20 * time.Millisecond
	retryDelayMax = 2 * time.Second
)

// Error is an error of the daemon, or of the connection to it. Code is stable and says what to do ("busy",
// "unknownStore", "historyExpired", ...); Reason and Hint, the next step, are for people.
type Error struct {
	Code      string `json:"-"`
	Reason    string `json:"reason"`
	Hint      string `json:"hint"`
	Path      string `json:"path"`
	Operation string `json:"operation"`
}

func (e *Error) Error() string {
	text := e.Reason
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	if e.Hint != "" {
		text += ". " + e.Hint
	}
	return text
}

// IsTransient says that the same call may succeed a moment later.
func (e *Error) IsTransient() bool {
	return e.Code == "busy" || e.Code == "unreachable" || e.Code == "diskFull"
}

// NeedsResync says that the token is no longer valid: read the rows again, go on at a token taken before that.
func (e *Error) NeedsResync() bool {
	return e.Code == "historyExpired" || e.Code == "foreignHistory"
}

// SocketPath is the daemon's socket: SYNCD_SOCKET, else that of the user's own daemon, else the system's.
func SocketPath() string {
	if path := os.Getenv("SYNCD_SOCKET"); path != "" {
		return path
	}
	if folder := os.Getenv("XDG_RUNTIME_DIR"); folder != "" {
		path := folder + "/syncd/syncd.sock"
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return "/run/syncd/syncd.sock"
}

// connection answers its calls one after the other; a stream keeps it for itself.
type connection struct {
	path   string
	socket net.Conn
	reader *bufio.Reader
}

func dial(ctx context.Context, path string) (*connection, error) {
	var dialer net.Dialer
	socket, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, lost(path, err)
	}
	return &connection{path, socket, bufio.NewReaderSize(socket, 1<<16)}, nil
}

func lost(path string, cause error) *Error {
	if errors.Is(cause, fs.ErrPermission) {
		return &Error{
			Code: "notAllowed", Reason: "no permission to connect (" + cause.Error() + ")", Path: path,
			Hint: "Ask for the group of the socket: ls -l " + path}
	}
	return &Error{
		Code: "unreachable", Reason: "syncd does not answer (" + cause.Error() + ")", Path: path,
		Hint: "Start it: systemctl start syncd, or syncd --user"}
}

func (c *connection) send(method string, parameters any, more bool) error {
	message, err := json.Marshal(map[string]any{
		"method": interfacePrefix + method, "parameters": parameters, "more": more})
	if err != nil {
		return err
	}
	if _, err := c.socket.Write(append(message, 0)); err != nil {
		return lost(c.path, err)
	}
	return nil
}

// receive returns the parameters of the next reply, and whether another follows.
func (c *connection) receive() (json.RawMessage, bool, error) {
	var message []byte
	for {
		slice, err := c.reader.ReadSlice(0)
		message = append(message, slice...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, false, lost(c.path, err)
		}
		if len(message) > messageBytesMax {
			return nil, false, &Error{Code: "badData", Reason: "a reply without end", Path: c.path}
		}
	}
	var reply struct {
		Parameters json.RawMessage
		Error      string
		Continues  bool
	}
	if err := json.Unmarshal(bytes.TrimSuffix(message, []byte{0}), &reply); err != nil {
		return nil, false, &Error{Code: "badData", Reason: err.Error(), Path: c.path}
	}
	if reply.Error != "" {
		return nil, false, errorOf(reply.Error, reply.Parameters)
	}
	return reply.Parameters, reply.Continues, nil
}

func errorOf(name string, parameters json.RawMessage) *Error {
	code := name[strings.LastIndexByte(name, '.')+1:]
	result := &Error{Reason: name}
	_ = json.Unmarshal(parameters, result) // without parameters the name is all there is
	result.Code = strings.ToLower(code[:1]) + code[1:]
	return result
}

// Client is safe for use by several goroutines. Calls share one connection, made at the first call and again when
// it was lost.
type Client struct {
	path       string
	mutex      sync.Mutex
	connection *connection
}

// NewClient makes a client of the daemon at a socket; "": SocketPath.
func NewClient(path string) *Client {
	if path == "" {
		path = SocketPath()
	}
	return &Client{path: path}
}

// Call calls a method of org.syncd.Store, and decodes the parameters of its reply into result.
func (c *Client) Call(method string, parameters any, result any) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.connection == nil {
		connection, err := dial(context.Background(), c.path)
		if err != nil {
			return err
		}
		c.connection = connection
	}
	err := c.connection.send(method, parameters, false)
	var reply json.RawMessage
	if err == nil {
		reply, _, err = c.connection.receive()
	}
	if err != nil {
		var known *Error
		if !errors.As(err, &known) || known.Code == "unreachable" || known.Code == "badData" {
			c.connection.socket.Close()
			c.connection = nil
		}
		return err
	}
	return json.Unmarshal(reply, result)
}

// Close closes the connection of calls. Subscriptions continue.
func (c *Client) Close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.connection != nil {
		c.connection.socket.Close()
		c.connection = nil
	}
}

// Store is a store of the daemon.
type Store struct {
	Path        string
	State       string
	ID          string
	Token       string
	Subscribers int
	Error       *struct{ Code, Reason, Hint string }
}

// Stores are those that this user may see.
func (c *Client) Stores() ([]Store, error) {
	var reply struct{ Stores []Store }
	err := c.Call("List", struct{}{}, &reply)
	return reply.Stores, err
}

// Held is how a held object is now.
type Held struct {
	Object      string
	Present     bool
	Incarnation int64
}

// Hold adds objects ("Album/348") to what a subscription holds: Reply.Subscription is its name. After the next
// connect they are those in Options.Hold again.
func (c *Client) Hold(subscription string, objects ...string) ([]Held, error) {
	var reply struct{ Held []Held }
	err := c.Call("Hold", map[string]any{"subscription": subscription, "objects": objects}, &reply)
	return reply.Held, err
}

// Change is what a transaction did to one object. Values of the database stay JSON: see docs/protocol.md, Values.
type Change struct {
	Entity      string
	Object      string
	Kind        string // "insert", "update", "delete"
	Properties  []string
	Tombstone   map[string]json.RawMessage
	OldValues   map[string]json.RawMessage
	Cause       *struct{ Kind, Object string }
	Incarnation int64
}

// Part says which slice of a large transaction has come. Index 0 begins the transaction again: forget the parts of
// it that were collected before.
type Part struct {
	Index  int
	IsLast bool
}

// Transaction is one commit, or a part of it.
type Transaction struct {
	Number    int64
	Token     string
	Timestamp string
	Author    string
	Context   string
	Process   *struct {
		PID  int
		Name string
	}
	Origin  string
	Flags   []string
	Changes []Change
	Part    *Part
}

// Reply is one of Subscribe. Token, where it is not "": save it with the effect of all replies up to this one.
type Reply struct {
	Subscription string // in the first reply after a connect
	Head         string
	Held         []Held
	Token        string
	Transaction  *Transaction
	Notices      []map[string]json.RawMessage // one key each: gone, changed, storeReplaced, ...
	JSON         json.RawMessage              `json:"-"` // the reply as it came
}

// Options choose what Follow sends. The zero value: all that is committed from now on.
type Options struct {
	After       string         // begin with what was missed since this token
	Hold        []string       // objects to hold from the start
	Filter      map[string]any // the interface's type Filter
	ExcludesOwn bool
}

// Follow calls handle with each reply of Subscribe: each transaction of a store once, in order. A lost connection is
// made again, and the stream goes on after the last token that was received. Follow ends with the error of ctx or of
// handle, or with an *Error that waiting does not mend, or that comes before the first reply.
func (c *Client) Follow(
	ctx context.Context, store string, options Options, handle func(Reply) error,
) error {
	wasConnected, delay := false, retryDelayMin
	for {
		err := c.followOnce(ctx, store, &options, func(reply Reply) error {
			wasConnected, delay = true, retryDelayMin
			return handle(reply)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var known *Error
		// A socket that was just made may get its group and mode a moment later.
		if !wasConnected || !errors.As(err, &known) || !(known.IsTransient() || known.Code == "notAllowed") {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(float64(delay) * (0.75 + rand.Float64()/2))):
		}
		if delay *= 2; delay > retryDelayMax {
			delay = retryDelayMax
		}
	}
}

func (c *Client) followOnce(
	ctx context.Context, store string, options *Options, handle func(Reply) error,
) error {
	connection, err := dial(ctx, c.path)
	if err != nil {
		return err
	}
	defer connection.socket.Close()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-ctx.Done():
			connection.socket.Close()
		case <-done:
		}
	}()
	parameters := map[string]any{"store": store, "excludeOwn": options.ExcludesOwn}
	if options.After != "" {
		parameters["after"] = options.After
	}
	if len(options.Hold) > 0 {
		parameters["hold"] = options.Hold
	}
	if options.Filter != nil {
		parameters["filter"] = options.Filter
	}
	if err := connection.send("Subscribe", parameters, true); err != nil {
		return err
	}
	for continues := true; continues; {
		var text json.RawMessage
		if text, continues, err = connection.receive(); err != nil {
			return err
		}
		reply := Reply{JSON: text}
		if err := json.Unmarshal(text, &reply); err != nil {
			return &Error{Code: "badData", Reason: err.Error(), Path: c.path}
		}
		if err := handle(reply); err != nil {
			return err
		}
		if reply.Token != "" {
			options.After = reply.Token
		}
	}
	return &Error{Code: "unreachable", Reason: "syncd ended the subscription", Path: c.path}
}
