-- Every failed try of a task with its error: ask for one token, or order by at and take the last ones.
create view :"views".attempts as
select f.token, f.seq, f.at, t.workflow, k.state, k.visit, k.id as task, c.attempt, c.supervisor,
       f.data ->> 'error' as error,
       coalesce((
           select n.kind = 'task_retrying' from ledger n where n.token = f.token and n.seq = f.seq + 1
       ), false) as retried
from ledger f
join tokens t on t.token = f.token
left join tasks k on k.id = (f.data ->> 'task')::bigint
-- Whoever had claimed the task last before it failed.
left join lateral (
    select (g.data ->> 'attempt')::bigint as attempt, g.data ->> 'supervisor' as supervisor
    from ledger g
    where g.token = f.token and g.seq < f.seq and g.kind = 'task_claimed' and g.data ->> 'task' = f.data ->> 'task'
    order by g.seq desc
    limit 1
) c on true
where f.kind = 'task_failed';

comment on view :"views".attempts is 'Failed tries of tasks: whose, when, and with which error.';
comment on column :"views".attempts.token is 'The token''s id.';
comment on column :"views".attempts.seq is 'The number of the failure in the token''s ledger.';
comment on column :"views".attempts.at is 'When the try failed.';
comment on column :"views".attempts.workflow is 'The workflow: the main one, or a child''s.';
comment on column :"views".attempts.state is 'The state whose work was tried.';
comment on column :"views".attempts.visit is 'Which visit of the state it was.';
comment on column :"views".attempts.task is 'The task''s number.';
comment on column :"views".attempts.attempt is 'Which try it was: 1, 2, 3.';
comment on column :"views".attempts.supervisor is 'The supervisor that had it.';
comment on column :"views".attempts.error is 'Why it failed.';
comment on column :"views".attempts.retried is 'Whether the task was tried again; else it had failed for good.';
