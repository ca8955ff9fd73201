package whitewire;

import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.util.Tool;

/**
 * The job of Hadoop's example WordCount: its mapper, combiner and reducer, set up as its main does.
 *
 * That main ends its JVM, and the example is no Tool that a JVM could run among others.
 */
public final class WordCount extends Configured implements Tool {
    @Override
    public int run(String[] arguments) throws Exception {
        Job job = Job.getInstance(getConf(), "word count");
        job.setJarByClass(org.apache.hadoop.examples.WordCount.class);
        job.setMapperClass(org.apache.hadoop.examples.WordCount.TokenizerMapper.class);
        job.setCombinerClass(org.apache.hadoop.examples.WordCount.IntSumReducer.class);
        job.setReducerClass(org.apache.hadoop.examples.WordCount.IntSumReducer.class);
        job.setOutputKeyClass(Text.class);
        job.setOutputValueClass(IntWritable.class);
        FileInputFormat.addInputPath(job, new Path(arguments[0]));
        FileOutputFormat.setOutputPath(job, new Path(arguments[1]));
        return job.waitForCompletion(true) ? 0 : 1;
    }
}
