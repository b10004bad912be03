package sqlstore_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sched/mutex"
	"sched/mutex/sqlstore"
	"sched/testing/sqltest"
)

// A commit waits for a synchronous replica, so the replica has it when it is promoted.
func TestAPromotedReplicaHasEveryClaim(t *testing.T) {
	t.Parallel()
	primary := sqltest.Start(t, sqltest.Postgres)
	replica := primary.StartReplica()
	url := strings.Replace(primary.URL(""), primary.Address, primary.Address+","+replica.Address, 1)
	s := open(t, "shop", url)
	lock := acquire(t, s, "backup", "run-1")
	mutex.Concurrently(100, func(i int) {
		if err := s.Claim(ctx, fmt.Sprint("slot-", i), time.Now(), holder("run-1")); err != nil {
			t.Error(err)
		}
	})
	refused(t, open(t, "shop", replica.URL("")).Claim(ctx, "slot-0", time.Now(), holder("run-2")), "takes no writes")
	primary.Kill()
	refused(t, open(t, "shop", url).Claim(ctx, "slot-0", time.Now(), holder("run-2")), "does not answer")
	replica.Exec("SELECT pg_promote()")
	until(t, "the lease goes on", func() bool { return lock.Renew(ctx) == nil })
	next := open(t, "shop", url)
	mutex.Concurrently(100, func(i int) {
		heldBy(t, next.Claim(ctx, fmt.Sprint("slot-", i), time.Now(), holder("run-2")), "run-1")
	})
	_, err := next.Acquire(ctx, "backup", holder("run-2"))
	heldBy(t, err, "run-1")
	useAll(t, open(t, "other", url))
}

// A statement that has lost a deadlock is tried again. The other transaction has more rows, so
// MySQL takes ours as the victim; PostgreSQL takes the one that has waited longer.
func TestADeadlockIsTriedAgain(t *testing.T) {
	onShared(t, func(t *testing.T, server *sqltest.Server) {
		s := open(t, "shop", server.URL(""))
		claimBoth := func() (errs [2]error) {
			mutex.Concurrently(2, func(i int) { errs[i] = s.Claim(ctx, string("ab"[i]), time.Now(), holder("run-1")) })
			return errs
		}
		count := "SELECT count FROM information_schema.INNODB_METRICS WHERE name = 'lock_deadlocks'"
		if server.Name == sqltest.Postgres.Name {
			server.Exec("ALTER DATABASE " + server.Database() + " SET deadlock_timeout = '100ms'")
			count = "SELECT pg_stat_force_next_flush(), deadlocks FROM pg_stat_database WHERE datname = current_database()"
		}
		db, _ := connect(t, server)
		claimBoth()
		before := server.Exec(count)
		until(t, "there was a deadlock", func() bool {
			server.Exec("UPDATE sched_entry SET ends = 1")
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			lock := func(name string) {
				tx.Exec("UPDATE sched_entry SET ends = ends + 1 WHERE schedule = 'shop' AND name = 'claim/" + name + "'")
			}
			for range 5 {
				tx.Exec("INSERT INTO sched_log (schedule, name, value) VALUES ('other', 'other', '')")
			}
			lock("b")
			done := make(chan [2]error)
			go func() { done <- claimBoth() }()
			time.Sleep(50 * time.Millisecond) // our statement has row a, and waits for row b
			lock("a")
			tx.Commit()
			if errs := <-done; errs != [2]error{} {
				t.Fatalf("it is not tried again: %v", errs)
			}
			return server.Exec(count) != before
		})
	})
}

// Only the clock of the database counts. Somebody sets it by an hour while a run has a lock.
func TestTheClockOfTheDatabaseMayBeSet(t *testing.T) {
	onEach(t, func(t *testing.T, server *sqltest.Server) {
		s := open(t, "shop", server.URL(""))
		lock := acquire(t, s, "backup", "run-1")
		if err := s.Claim(ctx, "slot", time.Now(), holder("run-1")); err != nil {
			t.Fatal(err)
		}
		for ahead, hour := range map[string]time.Duration{"+1h": time.Hour, "-1h": -time.Hour} {
			server.SetClock(ahead)
			if now, err := s.Now(ctx); err != nil || (time.Since(now)+hour).Abs() > 10*time.Second {
				t.Errorf("%s: the time is %s, %v", ahead, now, err)
			}
			if err := lock.Renew(ctx); err != nil {
				t.Errorf("%s: the run lost its lock, which nobody took: %v", ahead, err)
			}
			next := open(t, "shop", server.URL(""))
			_, err := next.Acquire(ctx, "backup", holder("run-2"))
			heldBy(t, err, "run-1")
			heldBy(t, next.Claim(ctx, "slot", time.Now(), holder("run-2")), "run-1")
			useAll(t, open(t, "other"+ahead, server.URL("")))
		}
	})
}

// A server that is killed and restarted, or stands still, gives each slot to one run, and each slot
// to some run once it answers again.
func TestADatabaseMayBeRestartedAtAnyMoment(t *testing.T) {
	onEach(t, func(t *testing.T, server *sqltest.Server) {
		const servers, slots = 5, 200
		var claimed atomic.Int32
		var race sync.WaitGroup
		race.Go(func() {
			oneByOne := func(n int, claim func(int)) {
				for i := range n {
					claim(i)
				}
			}
			raceForSlots(t, server, servers, slots, oneByOne, func() { claimed.Add(1) })
		})
		for n := range int32(4) {
			until(t, "they go on", func() bool { return claimed.Load() > (n+1)*servers*slots/6 })
			if n%2 == 0 {
				server.Restart()
				continue
			}
			server.Pause()
			time.Sleep(300 * time.Millisecond)
			server.Resume()
		}
		race.Wait()
	})
}

func TestACertificateIsChecked(t *testing.T) {
	onEach(t, func(t *testing.T, server *sqltest.Server) {
		ca := server.Secure()
		text, _ := os.ReadFile(ca)
		other := filepath.Join(t.TempDir(), "other.pem")
		if err := os.WriteFile(other, text, 0o600); err != nil {
			t.Fatal(err)
		}
		server.Secure() // with another certificate
		url := server.URL("") + "?sslmode=verify-full&sslrootcert="
		useAll(t, open(t, "shop", url+ca))
		useAll(t, open(t, "shop", server.URL("")+"?sslmode=require"))
		s, err := sqlstore.Open(mutex.Config{Servers: []string{url + filepath.Base(ca)}, Dir: filepath.Dir(ca),
			Namespace: "shop", Lease: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		useAll(t, s)
		for wrong, words := range map[string]string{
			url + other:           "certificate",
			url + "/no/such/file": "cannot be reached with these settings",
			strings.Replace(url+ca, "127.0.0.1", "localhost", 1): "certificate",
		} {
			refused(t, open(t, "shop", wrong).Claim(ctx, "slot", time.Now(), holder("run-1")), words)
		}
	})
}

// A stranger has the row locked, as with a transaction that is left open in a shell. A lease that
// waits for it counts from the end of the wait. Else it could be over at its birth, and a renewal
// that is executed late would make a lease shorter that was renewed since.
func TestWhatWaitedForALockedRowIsKeptFromThenOn(t *testing.T) {
	const wait, lease, claim = time.Second, time.Minute, 2 * time.Hour
	onShared(t, func(t *testing.T, server *sqltest.Server) {
		s := open(t, "shop", server.URL(""))
		stranger, clock := connect(t, server)
		renewed, _ := acquire(t, s, "renewed", "run-1"), acquire(t, s, "taken", "run-1")
		if err := s.Claim(ctx, "claimed", time.Now(), holder("run-1")); err != nil {
			t.Fatal(err)
		}
		// keptFor returns how long a row is kept after the stranger has let it go, and the error
		// of the call that waited for the row.
		keptFor := func(row string, waits func() error) (time.Duration, error) {
			server.Exec("UPDATE sched_entry SET ends = 1 WHERE name <> 'lock/renewed'")
			tx, err := stranger.Begin()
			if err != nil {
				t.Fatal(err)
			}
			var ends, released int64
			row = " FROM sched_entry WHERE schedule = 'shop' AND name = '" + row + "'"
			if err := tx.QueryRow("SELECT ends" + row + " FOR UPDATE").Scan(&ends); err != nil {
				t.Fatal(err)
			}
			begun, waited := time.Now(), make(chan error, 1)
			go func() { waited <- waits() }()
			until(t, "it has waited", func() bool { return time.Since(begun) > wait })
			if err := errors.Join(tx.QueryRow("SELECT "+clock).Scan(&released), tx.Commit()); err != nil {
				t.Fatal(err)
			}
			err = <-waited
			if err := stranger.QueryRow("SELECT ends" + row).Scan(&ends); err != nil {
				t.Fatal(err)
			}
			return time.Duration(ends-released) * time.Millisecond, err
		}
		for row, test := range map[string]struct {
			keep  time.Duration
			waits func() error
		}{
			"lock/renewed":  {lease, func() error { return renewed.Renew(ctx) }},
			"lock/taken":    {lease, func() error { _, err := s.Acquire(ctx, "taken", holder("run-2")); return err }},
			"claim/claimed": {claim, func() error { return s.Claim(ctx, "claimed", time.Now(), holder("run-2")) }},
		} {
			until(t, "an answer has come in time", func() bool {
				kept, err := keptFor(row, test.waits)
				if err == nil && kept < test.keep-wait/2 {
					t.Errorf("%s is kept for %s", row, kept)
				}
				return err == nil
			})
		}
	})
}

// Databases may compare texts without regard to case, accents or blanks at the end.
func TestKeysAreComparedByteByByte(t *testing.T) {
	onShared(t, func(t *testing.T, server *sqltest.Server) {
		if server.Name == sqltest.MariaDB.Name {
			server.Exec("ALTER DATABASE " + server.Database() + " CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
		}
		for i, name := range []string{"shop", "Shop", "shop ", "shöp", "sho\u0301p", "shóp"} {
			s := open(t, name, server.URL(""))
			for j, key := range []string{"a", "A", "a ", " a", "ä", "a\u0308"} {
				run := fmt.Sprint("run-", i, j)
				acquire(t, s, key, run)
				if err := s.Claim(ctx, key, time.Now(), holder(run)); err != nil {
					t.Errorf("%q of %q: %v", key, name, err)
				}
			}
			for _, run := range []string{"run", "Run", "run ", "rún"} {
				heldBy(t, s.Claim(ctx, "a", time.Now(), holder(run)), fmt.Sprint("run-", i, 0))
				if err := s.Adopt("a", holder(strings.ToUpper(fmt.Sprint("run-", i, 0))), nil).Release(ctx); err != nil {
					t.Error(err)
				}
			}
			if held, err := s.Held(ctx, "a", "A", "a ", " a", "ä", "a\u0308"); len(held) != 6 || err != nil {
				t.Errorf("%q has %v, %v", name, held, err)
			}
		}
	})
}

// connect opens a database as a stranger does, who may keep a transaction open. It also returns
// what the time of the database is in its SQL, in milliseconds.
func connect(t *testing.T, server *sqltest.Server) (db *sql.DB, clock string) {
	t.Helper()
	driver, dsn := "mysql", "sched:secret@tcp("+server.Address+")/"+server.Database()
	clock = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000"
	if server.Name == sqltest.Postgres.Name {
		driver, dsn = "pgx", server.URL("")
		clock = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, clock
}
