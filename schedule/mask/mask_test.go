package mask

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestValuesAreMasked(t *testing.T) {
	for _, test := range []struct {
		values []string
		text   string
		want   string
	}{
		{nil, "anything", "anything"},
		{[]string{"hunter2"}, "pw=hunter2\n", "pw=•••\n"},
		{[]string{"short"}, "a short text", "a short text"},
		{[]string{"ümläut"}, "ein ümläut", "ein •••"},
		{[]string{"hunter2", "hunter2-long"}, "hunter2-long hunter2", "••• •••"},
		{[]string{"hunter2"}, "hunter2hunter2", "••••••"},
		{[]string{"abcdef", "defghi"}, "xabcdefghiy", "x•••y"},
		{[]string{"aaaaaa"}, strings.Repeat("a", 100), "•••"},
		{[]string{"abcdefgh", "cdefgh"}, "abcdefgh cdefgh", "••• •••"},
		{[]string{"abcdefX", "bcdefYZZ"}, "abcdefYZZ", "a•••"},
		{[]string{"first line\nno\nthe third\r\n"}, "the third\nno\nfirst line", "•••\nno\n•••"},
		{[]string{"first line\nno\nthe third\n"}, "<first line\nno\nthe third\n>", "<•••>"},
		{[]string{"  padded  "}, "padded", "•••"},
		{[]string{"          "}, "a          b", "a          b"},
		{[]string{"hunter2-long"}, "it ends with hunter2", "it ends with •••"},
		{[]string{"hunter2-long"}, "it ends with hun", "it ends with hun"},
	} {
		if got := New(test.values).Text(test.text); got != test.want {
			t.Errorf("%q in %q: %q, want %q", test.values, test.text, got, test.want)
		}
	}
}

func TestNoSplitChangesWhatIsMasked(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func(most int) string {
		text := make([]byte, Least+random.IntN(most))
		for i := range text {
			text[i] = "ab\n"[random.IntN(20)%(2+random.IntN(2))]
		}
		return string(text)
	}
	for range 20_000 {
		var values []string
		for range 1 + random.IntN(6) {
			values = append(values, word(6))
		}
		set, text := New(values), []byte(word(60))
		if set == nil {
			continue
		}
		want := masked(set.values, text)
		stream, got := set.Stream(), []byte(nil)
		for rest := text; len(rest) > 0; {
			n := 1 + random.IntN(min(9, len(rest)))
			got = stream.Append(got, rest[:n])
			rest = rest[n:]
			if len(stream.held) >= set.longest {
				t.Fatalf("%d bytes are kept back, and no value has more than %d", len(stream.held), set.longest)
			}
		}
		held := stream.held
		if len(held) >= Least {
			held = []byte(Shown)
		}
		if len(held) > 0 { // what is kept back only begins a value
			end := len(text) - len(stream.held)
			want = append(masked(set.values, text)[:len(masked(set.values, text))-len(text)+end], held...)
		}
		if got = stream.End(got); !bytes.Equal(got, want) {
			t.Fatalf("%q in %q: %q, want %q", values, text, got, want)
		}
	}
}

// masked masks in the simplest way.
func masked(values []string, text []byte) (out []byte) {
	secret, begins := make([]bool, len(text)), make([]bool, len(text)+1)
	for i := range text {
		for _, value := range values {
			if bytes.HasPrefix(text[i:], []byte(value)) {
				for j := range len(value) {
					if secret[i+j] = true; j > 0 {
						begins[i+j] = true // goes on
					}
				}
			}
		}
	}
	for i, c := range text {
		switch {
		case !secret[i]:
			out = append(out, c)
		case !begins[i]:
			out = append(out, Shown...)
		}
	}
	return out
}

func TestPartsOfAValueAreMaskedWhereTextIsMissing(t *testing.T) {
	stream := New([]string{"0123456789abcdef"}).Stream()
	got := stream.Append(nil, []byte("begins 0123456789"))
	got = stream.End(got)
	got = stream.Append(got, []byte("89abcdef ends"))
	if got = stream.End(got); string(got) != "begins •••••• ends" {
		t.Errorf("got %q", got)
	}
}

func TestAThousandValuesTakeNotMuchLongerThanOne(t *testing.T) {
	var many []string
	for i := range 1000 {
		many = append(many, strings.Repeat("a", 500)+fmt.Sprint(i))
	}
	text := []byte(strings.Repeat(strings.Repeat("a", 499)+"b", 4000))
	duration := func(values []string) time.Duration {
		stream, start := New(values).Stream(), time.Now()
		stream.Append(nil, text)
		return time.Since(start)
	}
	one := duration(many[:1])
	if took := duration(many); took > 20*one+time.Second {
		t.Errorf("a thousand values took %s, one took %s", took, one)
	}
}

func BenchmarkText(b *testing.B) {
	line := "2026-11-29 19:24:07 INFO imported 18204 rows of orders from https://example.com/feed in 31 s\n"
	text := []byte(strings.Repeat(line, 10_000))
	for _, n := range []int{1, 20, 1000} {
		var values []string
		for i := range n {
			values = append(values, fmt.Sprintf("s3cr3t-%d-%x", i, rand.Uint64()))
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			set, dst := New(values), make([]byte, 0, len(text)+100)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				set.Stream().Append(dst, text)
			}
		})
	}
}

func TestSecretsInACommandAreNamedWithoutTheirValues(t *testing.T) {
	for _, row := range []struct{ command, want string }{
		{"PGPASSWORD=hunter2 pg_dump shop", "PGPASSWORD"},
		{"cd /srv && API_KEY='a b' A=1 ./x", "API_KEY"},
		{`export DB_PASSWORD="x"; ./x; DB_PASSWORD=y ./y`, "DB_PASSWORD"},
		{`sh -c "TOKEN=abc ./x"`, "TOKEN"},
		{"docker run -e MY_SECRET=x --env=API_TOKEN=y shop", "MY_SECRET API_TOKEN"},
		{"mysqldump -u root -phunter2 shop", "-p"},
		{"mysqldump --password=hunter2 shop | gzip", "--password"},
		{"/usr/bin/mariadb-dump -p'a b' shop", "-p"},
		{"sshpass -p hunter2 ssh host", "-p"},
		{"x --api-key=abc --db-password='y'", "--api-key --db-password"},
		{"curl -fsS -u me:abc https://example.com", "-u"},
		{"curl --user=me:abc https://example.com", "--user"},
		{"curl 'https://example.com/hook?a=b&token=abc'", "token"},
		{"pg_dump postgres://me:abc@db/shop", "the password in a URL"},
		{`PGPASSWORD=$PASS pg_dump; TOKEN="$(cat t)" x; SECRET= y`, ""},
		{"PASSWORD_FILE=/run/p x --password-file=p.txt --secret-id=7; TOKEN=/run/t x", ""},
		{"mysql -p shop; mysql --defaults-file=/x -p -e 'show tables'", ""},
		{"mysql shop; tar -pxf a; mkdir -p a; cp -pr a b", ""},
		{`mysql -p"$PASS" shop; curl -u "$U:$P" https://example.com:8080/a@b`, ""},
		{"awk -F: '{token=$1} END {print token}' x; rsync -a me@host:/x .", ""},
	} {
		if got := strings.Join(SecretsIn(row.command), " "); got != row.want {
			t.Errorf("%s has %q, not %q", row.command, got, row.want)
		}
	}
}
