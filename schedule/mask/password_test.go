package mask

import "testing"

func TestAPasswordIsMaskedWhereItIsAWord(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"args beginning with: 's3cret' ", "args beginning with: '***' "},
		{"redis://:s3cret@host and s3cret, s3cret.", "redis://:***@host and ***, ***."},
		{"lookup s3cret.internal: s3cretly, my-s3cret", "lookup s3cret.internal: s3cretly, my-s3cret"},
	} {
		if got := Password(tt.text, "s3cret", "host"); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	const text = `password authentication failed for user "shop"`
	if got := Password(text, "shop", "localhost", "shop"); got != text {
		t.Error(got)
	}
	if got := Password(text, ""); got != text {
		t.Error(got)
	}
}
