import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/** A job whose mapper is in the job's own jar alone. Arguments: input, output. */
public final class OwnJob extends Configured implements Tool {
    /** Writes what it reads. */
    public static final class Copies extends Mapper<LongWritable, Text, LongWritable, Text> {}

    @Override
    public int run(String[] arguments) throws Exception {
        Job job = Job.getInstance(getConf());
        job.setJarByClass(OwnJob.class);
        job.setMapperClass(Copies.class);
        job.setNumReduceTasks(0);
        FileInputFormat.addInputPath(job, new Path(arguments[0]));
        FileOutputFormat.setOutputPath(job, new Path(arguments[1]));
        return job.waitForCompletion(true) ? 0 : 1;
    }

    public static void main(String[] arguments) throws Exception {
        if (ToolRunner.run(new OwnJob(), arguments) != 0) {
            throw new IllegalStateException("the job failed");
        }
    }
}
