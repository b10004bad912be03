import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Date;
import java.util.TimeZone;
import org.springframework.scheduling.support.CronSequenceGenerator;

/** Prints when Spring before 5.3 would run each line of the file expressions, in the form of README.md. */
class AskSpring4 {
    public static void main(String[] args) throws Exception {
        var instants = Files.readAllLines(Path.of(args[0], "instants"));
        for (var line : Files.readAllLines(Path.of(args[0], "expressions"))) {
            try {
                new CronSequenceGenerator(line);
            } catch (RuntimeException error) {
                System.out.println(line + "\trefused\t" + String.valueOf(error.getMessage()).replaceAll("\\s+", " "));
                continue;
            }
            var answers = new StringBuilder();
            for (var instant : instants) {
                var words = instant.split(" ");
                var seconds = Long.parseLong(words[0]);
                var sequence = new CronSequenceGenerator(line, TimeZone.getTimeZone(words[1]));
                try {
                    answers.append(sequence.next(new Date(seconds * 1000)).getTime() / 1000 - seconds).append(' ');
                } catch (IllegalArgumentException never) {
                    answers.append("-1 ");
                }
            }
            System.out.println(line + "\tnext\t" + answers);
        }
    }
}
