-- Reads the flows of tasks, each with its asked steps and the one that is open, as JSON: a row for each asked
-- step, or one without a step. A missing row: that task has no flow.
with asked as materialized (
    select value ->> 'task' as task, value ->> 'step' as step from json_each(:rows)
)
select f.task, f.token, f.schema_version, f.revision, f.input, f.last_message, f.message_at,
       f.created_at, f.updated_at, f.step_count, f.size,
       (select json_group_array(json_array(s.seq, s.name, s.kind, s.status, s.result, s.correlation, s.answered, s.message,
                                         s.child, s.on_lost, s.attempt, s.revision, s.opened_at, s.completed_at,
                                         s.fault, s.failures, s.workflow, s.input_hash, s.fail_on_failure))
        from steps s
        where s.rowid in (
            select o.rowid from steps o where o.task = f.task and o.status = 'open'
            union
            select n.rowid from steps n
            where n.task = f.task and n.name in (select asked.step from asked where asked.task = f.task)
        )) as steps
from flows f where f.task in (select asked.task from asked)
