package envfile

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/joho/godotenv"
)

// shop is the environment that the files of the tests find.
func shop(name string) (string, bool) {
	value, ok := map[string]string{"HOME": "/home/shop", "EMPTY": ""}[name]
	return value, ok
}

func TestDotenv(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		// values without quotes
		{"a value", "A=b", "A=b"},
		{"several", "A=b\nC=d\n", "A=b|C=d"},
		{"an empty one", "A=\nB=c", "A=|B=c"},
		{"blanks around it", "  A  =  b c \t\n", "A=b c"},
		{"export", "export A=b\nexport\tC=d", "A=b|C=d"},
		{"a variable called export", "export=b", "export=b"},
		{"an equals sign in it", "URL=redis://h/?a=b", "URL=redis://h/?a=b"},
		{"a backslash and quotes in it", `A=C:\new "x" 'y'`, `A=C:\new "x" 'y'`},
		{"a name with a dot", "spring.url=x", "spring.url=x"},
		{"lines of Windows", "A=b\r\nC='d'\r\n", "A=b|C=d"},
		{"the mark that editors of Windows put first", "\ufeffA=b", "A=b"},

		// comments
		{"a line of its own", "# A=b\n\n   # C\nD=e", "D=e"},
		{"after a value", "A=b # c\nD=e\t# f", "A=b|D=e"},
		{"a # that begins none", "COLOUR=a#b", "COLOUR=a#b"},
		{"a value that is one", "A=# nothing\nB=c", "A=|B=c"},
		{"after quotes", "A='b' # it's c\nD=\"e\"# f", "A=b|D=e"},

		// quotes
		{"single quotes keep all", `A='$x ${y} \n " # z '`, `A=$x ${y} \n " # z `},
		{"double quotes", `A="b # c 'd' "`, "A=b # c 'd' "},
		{"escapes", `A="1\n2\t3\\4\"5\$6\${EMPTY}\z"`, "A=1\n2\t3\\4\"5$6${EMPTY}\\z"},
		{"several lines", "A='b\nc'\nD=\"e\nf\"\nG=h", "A=b\nc|D=e\nf|G=h"},
		{"empty quotes", `A=''` + "\n" + `B=""`, "A=|B="},

		// variables
		{"one that was set before", "A=b\nC=${A}c\nD=\"${C}d\"", "A=b|C=bc|D=bcd"},
		{"one of the environment", "A=${HOME}/x${EMPTY}", "A=/home/shop/x"},
		{"the file wins over the environment", "HOME=/x\nA=${HOME}", "HOME=/x|A=/x"},
		{"of two the later", "A=b\nA=c\nD=${A}", "A=b|A=c|D=c"},
		{"a lone dollar is only a dollar", "A=xTvDqw$27\nB=\"pa$$WORD$\"", "A=xTvDqw$27|B=pa$$WORD$"},
		{"nothing is run", "A=$(rm -rf /)\nB=\"`id`\"", "A=$(rm -rf /)|B=`id`"},
	} {
		pairs, err := Parse(row.text, shop)
		if got := strings.Join(pairs, "|"); err != nil || got != row.want {
			t.Errorf("%s: %q, %v; want %q", row.name, got, err, row.want)
		}
	}
}

// An error goes into the history, and the text of the file is full of secrets.
func TestTheErrorsOfDotenvNameALineAndNoSecret(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"no equals sign", "A=b\n\nhunter2", `line 3: there is no "="`},
		{"no name", "=hunter2", `line 1: what is before the "=" cannot name a variable`},
		{"a name with a blank", "hunter2 A=b", `line 1: what is before the "=" cannot name a variable`},
		{"a name that begins with a digit", "2hunter=b", `line 1: what is before the "=" cannot name a variable`},
		{"single quotes that are not closed", "A='x\ny'\n\nB='hunter2\nC=d", "line 4: the quotes are not closed"},
		{"double quotes that are not closed", `A="hunter2\"`, "line 1: the quotes are not closed"},
		{"text after the quotes", "A='x'hunter2", "line 1: something follows the closing quotes"},
		{"text after quotes over two lines", "A='x\ny'hunter2", "line 1: something follows the closing quotes"},
		{"a variable that is not set", "A=${hunter2}",
			"line 1: a variable in ${} is not set; single quotes keep it as it stands"},
		{"one that is set only later", "A=\"${hunter2}\"\nhunter2=x",
			"line 1: a variable in ${} is not set; single quotes keep it as it stands"},
		{"a brace that is not closed", "A=${hunter2",
			"line 1: only ${NAME} can follow a ${; single quotes keep it as it stands"},
		{"a default, which is for the shell", "A=${hunter2:-x}",
			"line 1: only ${NAME} can follow a ${; single quotes keep it as it stands"},
		{"a null character", "A=hunter2\x00", "it holds a null character"},
	} {
		_, err := Parse(row.text, shop)
		if err == nil || err.Error() != row.want {
			t.Errorf("%s: %v, want %s", row.name, err, row.want)
		}
	}
}

// typical is what applications ship as .env.example, in shape.
const typical = `APP_NAME=Shop
APP_ENV=production
APP_KEY=base64:2fl+Ktvkfl+Fuz4Qp/A75G2RTiWVA/ZoKZvp6fiiM10=
APP_URL=http://localhost

# the database
DB_HOST=127.0.0.1
DB_PASSWORD='p$ss # w"rd'
DATABASE_URL="postgres://user:pass@host:5432/shop?sslmode=disable"

export MAIL_FROM_NAME="${APP_NAME} Ltd."
VITE_APP_NAME=${APP_NAME}
MEMCACHED=
LOG_CHANNEL=stack # or single
KEY="-----BEGIN KEY-----
abc
-----END KEY-----"
MOTD="line\nline"
`

func TestDotenvReadsWhatOthersRead(t *testing.T) {
	theirs, err := godotenv.Unmarshal(typical)
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := Parse(typical, shop)
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]string{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		ours[name] = value
	}
	if !maps.Equal(ours, theirs) {
		t.Errorf("ours %q\ntheirs %q", ours, theirs)
	}
}

// godotenv drops what follows a $ in a password, and quotes the file in its errors: why it is not
// used.
func TestWhyDotenvIsOurs(t *testing.T) {
	theirs, _ := godotenv.Unmarshal("SECRET=xTvDqw$27")
	_, err := godotenv.Unmarshal("A=b\nhunter2!\nC=d")
	if theirs["SECRET"] == "xTvDqw$27" && err != nil && !strings.Contains(err.Error(), "hunter2") {
		t.Error("godotenv has changed: use it")
	}
}

func FuzzDotenv(f *testing.F) {
	f.Add(typical)
	f.Add("A=\"${HOME}\\n")
	f.Add("A='\r\n'#\nB = ${A}")
	f.Fuzz(func(t *testing.T, text string) {
		pairs, err := Parse(text, shop)
		for _, pair := range pairs {
			name, _, some := strings.Cut(pair, "=")
			if err != nil || !some || !isVariable(name) || strings.IndexByte(pair, 0) >= 0 {
				t.Errorf("%q: %q, %v", text, pair, err)
			}
		}
		// In single quotes any value comes back as it is.
		if text = strings.NewReplacer("'", "", "\x00", "", "\r", "").Replace(text); text != "" {
			if again, err := Parse("A='"+text+"'", shop); err != nil ||
				!slices.Equal(again, []string{"A=" + text}) {
				t.Errorf("%q: %q, %v", text, again, err)
			}
		}
	})
}

func TestEnvFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := dir + "/" + name
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	here := func(here, a string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			value, ok := map[string]string{"HERE": here, "A": a}[name]
			return value, ok
		}
	}
	a, b, bad := file("a", "A=a\nB=a"), file("b", "B=b\nC=${A}${HERE}"), file("bad", "hunter2")
	pairs, err := Read([]string{a, b}, here("!", "of the task"))
	if got := strings.Join(pairs, "|"); err != nil || got != "A=a|B=a|B=b|C=a!" {
		t.Errorf("%q, %v", got, err)
	}
	pairs, err = Read([]string{dir + "/none", bad, b}, here("2", "1"))
	if got := strings.Join(pairs, "|"); got != "B=b|C=12" || err == nil ||
		err.Error() != "env_file "+dir+"/none does not exist" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err = Read([]string{bad}, shop); err == nil || err.Error() != "env_file "+bad+`: line 1: there is no "="` {
		t.Error(err)
	}
	if _, err = Read([]string{dir}, shop); err == nil ||
		!strings.HasSuffix(err.Error(), "it is not a regular file") {
		t.Error(err)
	}
}
