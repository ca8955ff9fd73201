package whitewire;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.ExitUtil;
import org.apache.hadoop.util.ShutdownHookManager;
import org.apache.log4j.LogManager;
import org.apache.log4j.PropertyConfigurator;

/**
 * Runs what YARN's containers hold, tasks or ApplicationMasters, one after another in one JVM, as Hadoop 1 did with
 * tasks where jobs asked for it (mapred.job.reuse.jvm.num.tasks).
 *
 * What a container starts in place of Java (cluster/container_jvms.py) connects here and says, each word followed by a
 * zero byte: its process, its folder, the number of its arguments, these, its environment and an empty word. The answer
 * is the exit status. Each is given what a new JVM would have given it: environment, properties, logs, output, the user
 * with the job's tokens, file systems that nobody used before, statistics at zero. When the container ends before what
 * it holds, this JVM ends too, and so does one that a task ends.
 */
public final class ContainerJvm {
    private static final PrintStream OUTPUT = System.out;
    private static final PrintStream ERRORS = System.err;

    private static final String MASTER = "org.apache.hadoop.mapreduce.v2.app.MRAppMaster";
    private static final int LOOK_MILLISECONDS = 50;

    private ContainerJvm() {}

    /** Arguments: the folder of JVMs that wait for a container, the pipe that wants to know the port. */
    public static void main(String[] args) throws Exception {
        Properties first = (Properties) System.getProperties().clone();
        try (ServerSocket server = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
            String port = String.valueOf(server.getLocalPort());
            Files.writeString(Path.of(args[1]), port + "\n");
            while (true) {
                try (Socket container = server.accept()) {
                    int status = serve(container);
                    System.setProperties((Properties) first.clone());
                    // Free again before the container's end makes room for another.
                    Files.createFile(Path.of(args[0], port));
                    container.getOutputStream().write((status + "\n").getBytes(StandardCharsets.US_ASCII));
                }
            }
        }
    }

    private static int serve(Socket container) throws IOException, ReflectiveOperationException {
        InputStream asked = new BufferedInputStream(container.getInputStream());
        String process = word(asked);
        String folder = word(asked);
        List<String> arguments = new ArrayList<>();
        for (int left = Integer.parseInt(word(asked)); left > 0; left--) {
            arguments.add(word(asked));
        }
        Map<String, String> environment = new HashMap<>();
        for (String entry = word(asked); !entry.isEmpty(); entry = word(asked)) {
            int equals = entry.indexOf('=');
            environment.put(entry.substring(0, equals), entry.substring(equals + 1));
        }
        environment.put("JVM_PID", String.valueOf(ProcessHandle.current().pid()));
        AtomicBoolean ended = new AtomicBoolean();
        Thread guard = new Thread(() -> endWith(asked, ended), "container " + process);
        guard.setDaemon(true);
        guard.start();
        try (PrintStream output = stream(process, 4); PrintStream errors = stream(process, 5)) {
            System.setOut(output);
            System.setErr(errors);
            setEnvironment(environment);
            return run(folder, arguments);
        } finally {
            ended.set(true);
            System.setOut(OUTPUT);
            System.setErr(ERRORS);
            // A task's own would write to logs that are closed.
            Thread.setDefaultUncaughtExceptionHandler(null);
        }
    }

    /** Ends this JVM when a container is gone before what it held has ended. */
    private static void endWith(InputStream asked, AtomicBoolean ended) {
        try {
            while (asked.read() >= 0) {
                // a container says nothing more
            }
        } catch (IOException gone) {
            // as good as its end
        }
        if (!ended.get()) {
            Runtime.getRuntime().halt(143);
        }
    }

    private static int run(String folder, List<String> arguments) throws IOException, ReflectiveOperationException {
        setFolder(folder);
        int next = 0;
        for (; arguments.get(next).startsWith("-D"); next++) {
            String[] property = arguments.get(next).substring(2).split("=", 2);
            System.setProperty(property[0], property.length > 1 ? property[1] : "");
        }
        ClassLoader before = ContainerJvm.class.getClassLoader();
        try (URLClassLoader loader = new URLClassLoader(ofTheJob(new File(folder)), before)) {
            Thread.currentThread().setContextClassLoader(loader);
            LogManager.resetConfiguration();
            PropertyConfigurator.configure(before.getResource(System.getProperty("log4j.configuration")));
            UserGroupInformation.reset();
            FileSystem.clearStatistics();
            Class<?> task = Class.forName(arguments.get(next), true, before);
            String[] own = arguments.subList(next + 1, arguments.size()).toArray(new String[0]);
            Method main = task.getMethod("main", String[].class);
            main.setAccessible(true);
            if (MASTER.equals(task.getName())) {
                return untilExit(main, own);
            }
            main.invoke(null, (Object) own);
            return 0;
        } catch (InvocationTargetException failure) {
            failure.getCause().printStackTrace();
            return 1;
        } finally {
            runShutdownHooks();
            FileSystem.closeAll();
            LogManager.shutdown();
            Thread.currentThread().setContextClassLoader(before);
        }
    }

    /** Where the job's files and classes are: in the container's folder, and in what its jar is unpacked to there. */
    private static URL[] ofTheJob(File folder) throws IOException {
        File jar = new File(folder, "job.jar");
        List<File> places = new ArrayList<>(List.of(folder, new File(jar, "job.jar"), new File(jar, "classes")));
        File[] libraries = new File(jar, "lib").listFiles();
        places.addAll(libraries == null ? List.of() : List.of(libraries));
        URL[] found = new URL[places.size()];
        for (int place = 0; place < found.length; place++) {
            found[place] = places.get(place).toURI().toURL();
        }
        return found;
    }

    /** Run an ApplicationMaster: it goes on when its main() has returned, and asks its JVM to exit when it ends. */
    private static int untilExit(Method main, String[] arguments) throws ReflectiveOperationException {
        ExitUtil.disableSystemExit();
        try {
            main.invoke(null, (Object) arguments);
            while (!ExitUtil.terminateCalled()) {
                Thread.sleep(LOOK_MILLISECONDS);
            }
            return ExitUtil.getFirstExitException().getExitCode();
        } catch (InterruptedException nobody) {
            throw new IllegalStateException(nobody);
        } finally {
            ExitUtil.resetFirstExitException();
            DefaultMetricsSystem.shutdown();
            forgetJob(main.getDeclaringClass().getClassLoader());
        }
    }

    /** What an ApplicationMaster keeps in static fields: where its job's files are, what tasks ask for, its history. */
    private static void forgetJob(ClassLoader loader) throws ReflectiveOperationException {
        String attempts = "org.apache.hadoop.mapreduce.v2.app.job.impl.TaskAttemptImpl";
        String events = "org.apache.hadoop.mapreduce.jobhistory.JobHistoryEventHandler";
        field(Class.forName(attempts, true, loader), "commonContainerSpec").set(null, null);
        ((Map<?, ?>) field(Class.forName(attempts, true, loader), "RESOURCE_REQUEST_CACHE").get(null)).clear();
        ((Map<?, ?>) field(Class.forName(events, true, loader), "fileMap").get(null)).clear();
    }

    private static Field field(Class<?> type, String name) throws ReflectiveOperationException {
        Field found = type.getDeclaredField(name);
        found.setAccessible(true);
        return found;
    }

    /**
     * What Hadoop does when a JVM ends: it closes file systems and stops threads that write logs. An ApplicationMaster
     * would abort its job too, ended or not, and so remove what the next one writes to the same folder meanwhile.
     */
    private static void runShutdownHooks() throws ReflectiveOperationException {
        ShutdownHookManager hooks = ShutdownHookManager.get();
        for (Object entry : (List<?>) method(ShutdownHookManager.class, "getShutdownHooksInOrder").invoke(hooks)) {
            Runnable hook = (Runnable) method(entry.getClass(), "getHook").invoke(entry);
            if (hook.getClass().getName().startsWith(MASTER)) {
                hooks.removeShutdownHook(hook);
            }
        }
        method(ShutdownHookManager.class, "executeShutdown").invoke(hooks);
        hooks.clearShutdownHooks();
    }

    private static Method method(Class<?> type, String name) throws ReflectiveOperationException {
        Method found = type.getDeclaredMethod(name);
        found.setAccessible(true);
        return found;
    }

    /** The container's output (4) or errors (5), by the numbers that its script gives to them. */
    private static PrintStream stream(String process, int number) throws IOException {
        return new PrintStream(new FileOutputStream("/proc/" + process + "/fd/" + number, true), true);
    }

    private static String word(InputStream input) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int next = input.read(); next != 0; next = input.read()) {
            if (next < 0) {
                throw new EOFException("the container ended before it had said what to run");
            }
            bytes.write(next);
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    /** Where relative names of files lead from now on: Java itself asks only once for its folder. */
    private static void setFolder(String folder) throws ReflectiveOperationException {
        System.setProperty("user.dir", folder);
        Object names = field(File.class, "fs").get(null);
        field(names.getClass(), "userDir").set(names, folder);
    }

    /** What System.getenv() tells from now on: Java itself reads its environment only once. */
    private static void setEnvironment(Map<String, String> environment) throws ReflectiveOperationException {
        @SuppressWarnings("unchecked")
        Map<String, String> own = (Map<String, String>) field(System.getenv().getClass(), "m").get(System.getenv());
        own.clear();
        own.putAll(environment);
    }
}
