-- The first pending rows of the inbox by id, but for those whose `place` is passed over: up to `limit` of them, and
-- as many as have `bytes` together, one at least. What is larger than `largest` comes without its texts.
-- Zero rows: nothing is pending.
select p.id, p.kind, p.place, p.size,
       case when p.size <= :largest then p.token else left(p.token, 200) end as token,
       case when p.size <= :largest then p.event end as event,
       case when p.size <= :largest then p.document end as document,
       case when p.size <= :largest then p.key end as key
from (
    select s.id, s.kind, s.place, s.size, s.token, s.event, s.document, s.key,
           sum(least(s.size, :largest)) over (order by s.id) - least(s.size, :largest) as before
    from (
        select i.id, i.kind, lower(left(i.token, 200)) as place, i.token, i.event, i.document::text as document, i.key,
               octet_length(i.token) + coalesce(octet_length(i.event), 0) + coalesce(octet_length(i.key), 0)
                   + coalesce(octet_length(i.document::text), 0) as size
        from inbox i
        where i.status = 'pending' and lower(left(i.token, 200)) <> all(:passed::text[])
        order by i.id
        limit :limit
    ) s
) p
where p.before < :bytes
order by p.id
