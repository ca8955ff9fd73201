package whitewire;

import java.io.IOException;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.util.Tool;

/**
 * Reads a file as TestDFSIO does and says how many bytes came and how many TestDFSIO would credit.
 *
 * The loop of Hadoop 0.20 goes on while a read fills the buffer, and then credits the whole file. HDFS clients of that
 * time filled the buffer unless the block ended ("old"); present clients may return less at any packet
 * ("old-on-new-client"). The present loop reads to the end ("present").
 */
public final class ReadLoop extends Configured implements Tool {
    @Override
    public int run(String[] arguments) throws IOException {
        Path path = new Path(arguments[0]);
        String loop = arguments[1];
        byte[] buffer = new byte[Integer.parseInt(arguments[2])];
        FileSystem files = path.getFileSystem(getConf());
        FileStatus status = files.getFileStatus(path);
        long size = status.getLen();
        long block = status.getBlockSize();
        long read = 0;
        long begin = System.nanoTime();
        try (FSDataInputStream in = files.open(path)) {
            for (int got = 0; read < size; read += got) {
                got = loop.equals("old") ? fill(in, buffer, block - read % block) : in.read(buffer);
                if (got < 0) {
                    break;
                }
                if (got < buffer.length && !loop.equals("present")) {
                    read += got;
                    break;
                }
            }
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        long credited = loop.equals("present") ? read : size;
        System.out.printf("loop=%s bytes_read=%d bytes_credited=%d seconds=%.6f%n", loop, read, credited, seconds);
        return 0;
    }

    /** What a client of Hadoop 0.20 returned: a full buffer, or less at the block's end. */
    private static int fill(FSDataInputStream in, byte[] buffer, long leftInBlock) throws IOException {
        int wanted = (int) Math.min(buffer.length, leftInBlock);
        int have = 0;
        while (have < wanted) {
            int got = in.read(buffer, have, wanted - have);
            if (got < 0) {
                break;
            }
            have += got;
        }
        return have;
    }
}
