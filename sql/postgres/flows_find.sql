-- Reads the flows of tasks, each with its asked steps and the one that is open, as JSON: a row for each asked
-- step, or one without a step. A missing row: that task has no flow.
with asked as materialized (
    select r.task, r.step from json_to_recordset(:rows) as r(task bigint, step text)
)
select f.task, f.token, f.schema_version, f.revision, f.input::text as input, f.last_message, f.message_at,
       f.created_at, f.updated_at, f.step_count, f.size,
       (select json_agg(json_build_array(s.seq, s.name, s.kind, s.status, s.result::text, s.correlation, s.answered, s.message,
                                         s.child, s.on_lost, s.attempt, s.revision, s.opened_at, s.completed_at,
                                         s.fault, s.failures, s.workflow, s.input_hash, s.fail_on_failure))::text
        from steps s
        where s.ctid = any(array(
            select o.ctid from steps o where o.task = f.task and o.status = 'open'
            union
            select n.ctid from steps n
            where n.task = f.task and n.name = any(array(select a.step from asked a where a.task = f.task))
        ))) as steps
from flows f where f.task = any(array(select a.task from asked a))
