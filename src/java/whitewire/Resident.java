package whitewire;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Instant;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * Runs Hadoop's own command-line tools one after another in one JVM, so that starting a JVM is no part of a
 * measurement and several clients can begin at one signal.
 *
 * A line on standard input is a command: the tool's class and its arguments, separated by tabs. Before and after a
 * command a line says when it began and ended (seconds since 1970) and with which status: "@begin 1.234567",
 * "@end 1.234567 0". The end of standard input ends the JVM.
 */
public final class Resident {
    private Resident() {}

    public static void main(String[] args) throws Exception {
        Configuration configuration = new Configuration();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("@ready");
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split("\t");
            System.out.println("@begin " + now());
            int status;
            try {
                Configuration own = new Configuration(configuration);
                status = ToolRunner.run(own, tool(words[0], own), Arrays.copyOfRange(words, 1, words.length));
            } catch (Exception failure) {
                failure.printStackTrace(System.out);
                status = 255;
            }
            String ended = now();
            // The next command may bring settings of its own: no file system made with these stays cached.
            FileSystem.closeAll();
            System.out.println("\n@end " + ended + " " + status);
            System.out.flush();
        }
        System.exit(0);
    }

    /** Some tools take their configuration when they are made, the others when they run. */
    private static Tool tool(String name, Configuration configuration) throws ReflectiveOperationException {
        Class<?> kind = Class.forName(name);
        try {
            return (Tool) kind.getConstructor(Configuration.class).newInstance(configuration);
        } catch (NoSuchMethodException none) {
            return (Tool) kind.getConstructor().newInstance();
        }
    }

    private static String now() {
        Instant instant = Instant.now();
        return String.format("%d.%06d", instant.getEpochSecond(), instant.getNano() / 1000);
    }
}
