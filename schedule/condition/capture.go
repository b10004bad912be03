package condition

import (
	"os"
	"time"
)

// A capture keeps the last maxCaptured bytes that a condition command prints. It is a pipe: endless
// output fills neither disk nor memory.
type capture struct {
	pipe *os.File
	done chan struct{} // closed when text is complete
	text []byte
}

// maxCaptured bounds what is kept, in bytes.
const maxCaptured = 16 << 10

func newCapture() (c *capture, output *os.File, err error) {
	pipe, output, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	c = &capture{pipe: pipe, done: make(chan struct{})}
	go c.read()
	return c, output, nil
}

func (c *capture) read() {
	defer close(c.done)
	chunk := make([]byte, 4096)
	for {
		n, err := c.pipe.Read(chunk)
		c.text = append(c.text, chunk[:n]...)
		if excess := len(c.text) - maxCaptured; excess > 0 {
			c.text = append(c.text[:0], c.text[excess:]...)
		}
		if err != nil {
			return
		}
	}
}

// end returns what was printed. It does not wait for processes that still have the pipe open.
func (c *capture) end() []byte {
	c.pipe.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	<-c.done
	c.pipe.Close()
	return c.text
}
