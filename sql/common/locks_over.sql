-- Tasks that have locks of items whose time ended before now, each with its top token and how many they are. Zero rows: none.
select k.id, t.root, l.locks
from (
    select o.task, min(o.locked_until) as over_at, count(*) as locks
    from (
        select i.task, i.locked_until from items i
        where i.status = 'processing' and i.locked_until < :now
        order by i.locked_until
        limit :limit
    ) o
    group by o.task
) l
join tasks k on k.id = l.task
join tokens t on t.token = k.token
order by l.over_at, k.id
