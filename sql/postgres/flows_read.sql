-- Reads the flows of tasks, each with all its steps as JSON, in order. A missing row: that task has no flow.
select f.task, f.token, f.schema_version, f.revision, f.input::text as input, f.last_message, f.message_at,
       f.created_at, f.updated_at, f.step_count, f.size,
       (select json_agg(json_build_array(s.seq, s.name, s.kind, s.status, s.result::text, s.correlation, s.answered, s.message,
                                         s.child, s.on_lost, s.attempt, s.revision, s.opened_at, s.completed_at,
                                         s.fault, s.failures, s.workflow, s.input_hash, s.fail_on_failure)
                        order by s.seq)::text
        from steps s where s.task = f.task) as steps
from flows f where f.task = any(:tasks::bigint[])
