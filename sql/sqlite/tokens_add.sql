-- Adds tokens, in order of id. Fewer rows than asked: an id is taken, and nothing may be committed.
insert into tokens (token, root, parent, workflow, state, status, visit, seq, context,
                        counts, visits, entered_by, task, children_open, held_count,
                        created_at, entered_at, changed_at, paused_at, ambient, child, child_task)
select r.value ->> 'token', r.value ->> 'root', r.value ->> 'parent', r.value ->> 'workflow',
       r.value ->> 'state', r.value ->> 'status', r.value ->> 'visit', r.value ->> 'seq',
       r.value ->> 'context', r.value ->> 'counts', r.value ->> 'visits',
       r.value ->> 'entered_by', r.value ->> 'task', r.value ->> 'children_open',
       r.value ->> 'held_count', r.value ->> 'created_at', r.value ->> 'entered_at',
       r.value ->> 'changed_at', r.value ->> 'paused_at', r.value ->> 'ambient',
       r.value ->> 'child', r.value ->> 'child_task'
from json_each(:rows) as r where true
on conflict do nothing
returning 1 as written
