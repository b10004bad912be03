package mask

import "testing"

func TestAPasswordIsMaskedUnlessItIsAPublicWord(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"args beginning with: 's3cret' ", "args beginning with: '***' "},
		{"redis://:s3cret@host and s3cret, s3cret.", "redis://:***@host and ***, ***."},
		{"a URL with %40s3cret-, quoted by a driver", "a URL with %40***-, quoted by a driver"},
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
