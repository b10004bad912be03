package envfile_test

import (
	"fmt"

	"sched/schedule/envfile"
)

func ExampleParse() {
	pairs, err := envfile.Parse(`
export DB_HOST=127.0.0.1   # a comment
DB_PASSWORD='p$ss # w"rd'
DB_URL="mysql://shop@${DB_HOST}:${DB_PORT}/shop"
`, func(name string) (string, bool) { return "3306", name == "DB_PORT" })
	for _, pair := range pairs {
		fmt.Println(pair)
	}
	fmt.Println(err)

	_, err = envfile.Parse("A=b\nhunter2", nil)
	fmt.Println(err)
	// Output:
	// DB_HOST=127.0.0.1
	// DB_PASSWORD=p$ss # w"rd
	// DB_URL=mysql://shop@127.0.0.1:3306/shop
	// <nil>
	// line 2: there is no "="
}
