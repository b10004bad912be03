;; Prints when mcron would run each line of the file expressions, in the form of README.md. A time on
;; the other side of a change of the clocks is -2: mcron is an hour off until the clocks have changed.
(use-modules (mcron vixie-time) (ice-9 rdelim) (ice-9 match) (srfi srfi-1) (srfi srfi-13))

(define folder (cadr (command-line)))
(define (lines file)
  (call-with-input-file (string-append folder "/" file)
    (lambda (port)
      (let loop ((all '()))
        (let ((line (read-line port)))
          (if (eof-object? line) (reverse all) (loop (cons line all))))))))
(define instants (map string-tokenize (lines "instants")))

;; No line takes long; an answer that does would be left out.
(define ended #f)
(sigaction SIGALRM (lambda _ (set! ended #t) (throw 'slow)))

(define (answer next instant)
  (match instant
    ((seconds zone)
     (let ((now (string->number seconds)))
       (catch #t
         (lambda ()
           (let ((at (next now)))
             (if (= (tm:gmtoff (localtime at zone)) (tm:gmtoff (localtime now zone))) (- at now) -2)))
         (lambda _ (if ended (throw 'slow) -2)))))))

(define (answers next)
  (map (lambda (instant)
         (setenv "TZ" (cadr instant))
         (tzset)
         (answer next instant))
       instants))

(for-each
 (lambda (expression)
   (let* ((words (string-tokenize expression))
          (five (string-join (take words (min 5 (length words)))))
          (left (string-join (drop words (min 5 (length words))))))
     (catch #t
       (lambda ()
         (set! ended #f)
         (alarm 2)
         (let ((next (parse-vixie-time five)))
           (format #t "~a\tnext\t~a\t~a\n" expression (string-join (map number->string (answers next))) left)))
       (lambda (key . rest)
         (if (not ended)
             (format #t "~a\trefused\t~a\n" expression (if (eq? key 'mcron-error) (cadr rest) key)))))
     (alarm 0)))
 (lines "expressions"))
