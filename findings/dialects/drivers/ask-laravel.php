<?php
// Prints when PHP's cron-expression, which Laravel has for its scheduler, would run each line of
// the file expressions, in the form of README.md.
require_once 'Cron/autoload.php';

use Cron\CronExpression;

$instants = file($argv[1] . '/instants', FILE_IGNORE_NEW_LINES);
foreach (file($argv[1] . '/expressions', FILE_IGNORE_NEW_LINES) as $expression) {
    try {
        $cron = new CronExpression($expression);
    } catch (Throwable $error) {
        echo $expression, "\trefused\t", preg_replace('/\s+/', ' ', $error->getMessage()), "\n";
        continue;
    }
    $answers = [];
    foreach ($instants as $instant) {
        [$seconds, $zone] = explode(' ', $instant);
        $from = (new DateTimeImmutable('@' . $seconds))->setTimezone(new DateTimeZone($zone));
        try {
            $answers[] = $cron->getNextRunDate($from, 0, false, $zone)->getTimestamp() - $seconds;
        } catch (Throwable $error) {
            $answers[] = $error->getMessage() === 'Impossible CRON expression' ? -1 : -2;
        }
    }
    echo $expression, "\tnext\t", implode(' ', $answers), "\n";
}
