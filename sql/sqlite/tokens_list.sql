-- Lists tokens by entered_at, latest first, then by id. The statuses come as a JSON list. SQLite has no
-- lateral join, so the one range of each status is written out. Zero rows: none match.
with first as (
    select * from (
        select token, entered_at from tokens
        where status = 'active' and 'active' in (select value from json_each(:statuses))
        order by entered_at desc, token limit :limit
    )
    union all
    select * from (
        select token, entered_at from tokens
        where status = 'paused' and 'paused' in (select value from json_each(:statuses))
        order by entered_at desc, token limit :limit
    )
    union all
    select * from (
        select token, entered_at from tokens
        where status = 'completed' and 'completed' in (select value from json_each(:statuses))
        order by entered_at desc, token limit :limit
    )
    union all
    select * from (
        select token, entered_at from tokens
        where status = 'failed' and 'failed' in (select value from json_each(:statuses))
        order by entered_at desc, token limit :limit
    )
    union all
    select * from (
        select token, entered_at from tokens
        where status = 'cancelled' and 'cancelled' in (select value from json_each(:statuses))
        order by entered_at desc, token limit :limit
    )
)
select t.token, t.root, t.parent, t.workflow, t.state, t.status, t.visit, t.seq,
       t.context, t.counts, t.visits, t.entered_by, t.task,
       t.children_open, t.held_count, t.created_at, t.entered_at, t.changed_at, t.paused_at,
       t.ambient, t.child, t.child_task
from (select token from first order by entered_at desc, token limit :limit) f
join tokens t on t.token = f.token
order by t.entered_at desc, t.token
