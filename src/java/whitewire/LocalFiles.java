package whitewire;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * A host's own files, without a process for each change of a mode and each question for a link.
 *
 * Hadoop's distribution has a native library for these two; without it, as from Maven, Hadoop starts chmod and
 * readlink, some twenty times a container. Both are calls of Java by now.
 */
public final class LocalFiles extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
        Files.setAttribute(pathToFile(path).toPath(), "unix:mode", (int) permission.toShort());
    }

    @Override
    public FileStatus getFileLinkStatus(Path path) throws IOException {
        return Files.isSymbolicLink(pathToFile(path).toPath()) ? super.getFileLinkStatus(path) : getFileStatus(path);
    }

    /** With checksums, for FileSystem: fs.file.impl. */
    public static final class Checked extends LocalFileSystem {
        public Checked() {
            super(new LocalFiles());
        }
    }

    /** With checksums, for FileContext: fs.AbstractFileSystem.file.impl. */
    public static final class CheckedContext extends ChecksumFs {
        public CheckedContext(URI uri, Configuration configuration) throws IOException, URISyntaxException {
            super(new Context(uri, configuration));
        }
    }

    /** What org.apache.hadoop.fs.local.RawLocalFs is to RawLocalFileSystem. */
    private static final class Context extends DelegateToFileSystem {
        private Context(URI uri, Configuration configuration) throws IOException, URISyntaxException {
            super(uri, new LocalFiles(), configuration, uri.getScheme(), false);
        }

        @Override
        public boolean isValidName(String name) {
            // Hadoop leaves it to the operating system.
            return true;
        }
    }
}
