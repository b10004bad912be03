package systemd

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"sched/schedule/humanize"
)

// This file reads lines of units as systemd 252 does (systemd.service(5), "Command lines").

const blanks = " \t\n\r"

// cutWord cuts the first word off a line and takes its quotes away, which may begin inside of a
// word. Escapes of C are read if asked for; otherwise a backslash stands for what follows it.
// ok is false at the end of the line.
func cutWord(line string, escapes bool) (word, rest string, ok bool, err error) {
	line = strings.TrimLeft(line, blanks)
	var text strings.Builder
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\' && i+1 == len(line):
			return "", "", false, errors.New("it ends with a single \\")
		case c == '\\' && escapes:
			size := unescape(line[i:], &text)
			i += size - 1
		case c == '\\':
			i++
			text.WriteByte(line[i])
		case c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && strings.IndexByte(blanks, c) >= 0:
			return text.String(), strings.TrimLeft(line[i:], blanks), true, nil
		default:
			text.WriteByte(c)
		}
	}
	if quote != 0 {
		return "", "", false, errors.New("a quote is not closed")
	}
	return text.String(), "", line != "", nil
}

// escapeDigits are how many digits follow the letter of an escape.
var escapeDigits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// unescape writes what the escape at the beginning of a text stands for, and returns its size. An
// unknown escape stands for itself.
func unescape(text string, to *strings.Builder) (size int) {
	c := text[1]
	if at := strings.IndexByte(`abfnrtvs\"'`, c); at >= 0 {
		to.WriteByte("\a\b\f\n\r\t\v \\\"'"[at])
		return 2
	}
	begin, digits, base := 2, escapeDigits[c], 16
	if c >= '0' && c <= '3' {
		begin, digits, base = 1, 3, 8
	}
	if end := begin + digits; digits > 0 && end <= len(text) {
		value, err := strconv.ParseUint(text[begin:end], base, 32)
		switch {
		case err != nil || value == 0:
		case digits > 3 && utf8.ValidRune(rune(value)):
			to.WriteRune(rune(value))
			return end
		case digits <= 3:
			to.WriteByte(byte(value))
			return end
		}
	}
	to.WriteString(text[:2])
	return 2
}

// splitWords splits a whole line.
func splitWords(line string, escapes bool) (words []string, err error) {
	for {
		word, rest, ok, err := cutWord(line, escapes)
		if err != nil || !ok {
			return words, err
		}
		words, line = append(words, word), rest
	}
}

// Specifiers are what % and a letter stand for in a unit.
type specifiers map[byte]string

// live are specifiers whose value a shell finds when the command starts.
var live = map[byte]string{
	'H': "uname -n", 'v': "uname -r", 'm': "cat /etc/machine-id", 'l': "uname -n | cut -d. -f1",
	'b': "tr -d - < /proc/sys/kernel/random/boot_id",
}

// systemFolders are the folders of services of the machine.
var systemFolders = specifiers{
	't': "/run", 'S': "/var/lib", 'C': "/var/cache", 'L': "/var/log", 'E': "/etc", 'T': "/tmp", 'V': "/var/tmp",
	'u': "root", 'U': "0", 'g': "root", 'G': "0", 'h': "/root", 's': "/bin/sh",
}

// specifiersOf returns the specifiers of a unit. userHome is "" for the manager of the machine.
func specifiersOf(name, file, userHome string) specifiers {
	s := specifiers{'%': "%", 'n': name, 'y': file, 'T': "/tmp", 'V': "/var/tmp"}
	if userHome == "" {
		for letter, value := range systemFolders {
			s[letter] = value
		}
	} else {
		s['h'], s['S'], s['E'] = userHome, userHome+"/.config", userHome+"/.config"
		s['C'], s['L'] = userHome+"/.cache", userHome+"/.config/log"
	}
	s['N'] = name[:strings.LastIndexByte(name, '.')]
	s['p'], s['i'], _ = strings.Cut(s['N'], "@")
	s['P'], s['I'] = unescapeName(s['p']), unescapeName(s['i'])
	s['j'] = s['p'][strings.LastIndexByte(s['p'], '-')+1:]
	s['J'] = unescapeName(s['j'])
	if s['f'] = "/" + s['P']; s['i'] != "" {
		s['f'] = "/" + s['I']
	}
	return s
}

var nameEscape = humanize.Pattern(`\\x[0-9a-f]{2}`)

// unescapeName reads a name as systemd-escape writes it: a/b is a-b.
func unescapeName(name string) string {
	return nameEscape().ReplaceAllStringFunc(strings.ReplaceAll(name, "-", "/"), func(escape string) string {
		value, _ := strconv.ParseUint(escape[2:], 16, 8)
		return string([]byte{byte(value)})
	})
}

const liveMark = "\x00" // before the letter of a live specifier

// expand puts the values in place of the specifiers, and a mark in place of the live ones.
func (s specifiers) expand(text string) (string, error) {
	var expanded strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' || i+1 == len(text) {
			expanded.WriteByte(text[i])
			continue
		}
		i++
		value, ok := s[text[i]]
		switch _, isLive := live[text[i]]; {
		case ok:
			expanded.WriteString(value)
		case isLive:
			expanded.WriteString(liveMark + text[i:i+1])
		case text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z':
			return "", errors.New("%" + text[i:i+1] + " is known to systemd alone")
		default:
			expanded.WriteString(text[i-1 : i+1])
		}
	}
	return expanded.String(), nil
}

// fixed is expand for values that no shell reads.
func (s specifiers) fixed(text string) (string, error) {
	text, err := s.expand(text)
	if at := strings.Index(text, liveMark); err == nil && at >= 0 {
		return "", errors.New("%" + text[at+1:at+2] + " is another on each machine")
	}
	return text, err
}
