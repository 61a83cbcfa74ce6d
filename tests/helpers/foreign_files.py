"""Small files as other programs and data sets write them, and what shoal should make of each.

A row of FILES names the layout, writes it into a folder, and says who is in it, how many samples, and which
rows are lost for what reason. ``docs/formats.md`` has a row for each.
"""

import gzip
import importlib.util
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from foreign_writers import (
    DAWARICH_GPX,
    GPX,
    KML,
    LOST_SHIP,
    NOON_S,
    PHONETRACK,
    SHIP,
    STATION,
    TCX,
    TWO_PARTS,
    arrow_file,
    arrow_stream,
    delta,
    document,
    duckdb_file,
    excel,
    fit_bytes,
    geo,
    hive,
    kmz_bytes,
    multimno,
    packed,
    sentence,
    snapshots,
    sqlite,
    tagged,
    text,
    with_towers,
    zipped,
)  # fmt: skip

NO_PLACE: Final = "empty or unreadable coordinate"
SAME: Final = "same person, cell and minute after rounding"


@dataclass(frozen=True, kw_only=True)
class Foreign:
    """One layout. write: puts it into a folder and gives the source to read. needs: an optional library."""

    write: Callable[[Path], object]
    ids: tuple[str, ...]
    samples: int
    first_s: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    preset: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""


def installed(module: str) -> bool:
    """Whether an optional library is there."""
    try:
        return not module or importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package that it is part of
        return False


POINT: Final = {"type": "Point", "coordinates": [2.35, 48.85]}
LINE: Final = [[2.35, 48.85, 30], [2.36, 48.86, 31]]
TWO_TIMES: Final = ["2024-05-01T12:00:00Z", "2024-05-01T12:05:00Z"]


FILES: Final[Mapping[str, Foreign]] = {
    "CSV": Foreign(
        write=text("calls.csv", "id;t;lat;lon\nann;2024-05-01T12:00:00Z;48,85;2,35\n"),
        ids=("ann",), samples=1, first_s=NOON_S,
    ),
    "Parquet in hive partitions": Foreign(write=hive, ids=("ann", "bob"), samples=2, first_s=NOON_S),
    "GeoLife": Foreign(
        write=text(
            "Data/010/Trajectory/1.plt",
            "Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n0,2,255,My Track,0,0,2,8421376\n0\n"
            "39.9,116.3,0,492,39744.12,2024-05-01,12:00:00\n",
        ),
        ids=("010",), samples=1, first_s=NOON_S,
    ),
    "GPX": Foreign(
        write=text("ride.gpx", GPX), ids=("ride",), samples=2, first_s=NOON_S,
        dropped={"empty or unreadable time": 1},
    ),
    "PhoneTrack": Foreign(
        write=text("family.gpx", PHONETRACK), ids=("ann's phone", "bob's phone"), samples=3, first_s=NOON_S
    ),
    "Dawarich, GPX": Foreign(
        write=text("export_from_2024-05-01.gpx", DAWARICH_GPX),
        ids=("export_from_2024-05-01",), samples=2, first_s=NOON_S,
    ),
    "Dawarich, GeoJSON": Foreign(
        write=document(
            "export_from_2024-05-01.json",
            {"type": "FeatureCollection", "features": [
                {
                    "type": "Feature", "geometry": {"type": "Point", "coordinates": [2.35, 48.85]},
                    "properties": {
                        "battery_status": "unplugged", "ping": None, "battery": 85,
                        "tracker_id": "jane-phone", "topic": "owntracks/jane/phone", "altitude": 15,
                        "velocity": "0", "trigger": "unknown", "bssid": None, "ssid": "Home",
                        "connection": "wifi", "vertical_accuracy": 3, "accuracy": 5,
                        "timestamp": NOON_S, "mode": 1, "inrids": [], "in_regions": [],
                        "city": None, "country": None, "geodata": {}, "course": None, "latitude": "48.85",
                        "longitude": "2.35", "country_name": None, "track_id": 4, "anomaly": None,
                    },
                },
            ]},
        ),
        ids=("export_from_2024-05-01",), samples=1, first_s=NOON_S,
    ),
    "Dawarich, the whole account": Foreign(
        write=zipped(
            "user_data_export_20240502.zip",
            {
                "data.json": json.dumps(
                    {
                        "counts": {"areas": 1, "points": 3}, "settings": {"timezone": "UTC"},
                        "areas": [{"name": "Home", "latitude": "40.7128", "longitude": "-74.0060"}],
                        "points": [
                            {"timestamp": NOON_S, "tracker_id": "phone", "lonlat": "POINT(2.35 48.85)",
                             "longitude": 2.35, "latitude": 48.85, "raw_data": {"lat": 1, "lon": 1, "tst": 9},
                             "created_at": "2024-05-02T00:00:00Z", "import_reference": None},
                            {"timestamp": NOON_S + 300, "lonlat": "POINT (2.36 48.86)", "longitude": None,
                             "latitude": None, "updated_at": "2024-05-02T00:00:00Z"},
                            {"timestamp": NOON_S + 600, "lonlat": None},
                        ],
                        "visits": [{"started_at": "2024-05-01T08:00:00Z", "name": "Work"}], "places": [],
                    },
                    separators=(",", ":"),
                ).encode(),
                "files/import_1_2024_MAY.gpx": GPX.encode(),
            },
        ),
        ids=("user_data_export_20240502",), samples=2, first_s=NOON_S, dropped={NO_PLACE: 1},
    ),
    "KML": Foreign(write=text("walk.kml", KML), ids=("walk",), samples=2, first_s=NOON_S),
    "KMZ": Foreign(write=packed("walk.kmz", kmz_bytes()), ids=("walk",), samples=2, first_s=NOON_S),
    "TCX": Foreign(
        write=text("run.tcx", TCX), ids=("run",), samples=1, first_s=NOON_S, dropped={NO_PLACE: 1}
    ),
    "FIT": Foreign(
        write=packed("run.fit", fit_bytes()), ids=("run",), samples=2, first_s=NOON_S, dropped={NO_PLACE: 1},
        needs="fitdecode",
    ),
    "Strava": Foreign(
        write=zipped(
            "export_1.zip",
            {
                "activities.csv": b"Activity ID,Activity Date\n1,May 1\n", "profile.csv": b"Name\nann\n",
                "activities/1.gpx": GPX.encode(), "activities/2.tcx.gz": gzip.compress(TCX.encode()),
            },
        ),
        ids=("export_1",), samples=2, first_s=NOON_S,
        dropped={"empty or unreadable time": 1, NO_PLACE: 1, SAME: 1},
    ),
    "Google Timeline, Records.json": Foreign(
        write=document(
            "Records.json",
            {"locations": [
                {"timestampMs": str(NOON_S * 1000), "latitudeE7": 488_500_000, "longitudeE7": 23_500_000},
                {"timestamp": "2024-05-01T12:05:00Z", "latitudeE7": 488_600_000, "longitudeE7": 23_600_000},
                {"timestamp": "2024-05-01T12:06:00Z", "source": "WIFI"},
            ]},
        ),
        ids=("Records",), samples=2, first_s=NOON_S, dropped={NO_PLACE: 1},
    ),
    "Google Timeline, a month": Foreign(
        write=document(
            "2024_MAY.json",
            {"timelineObjects": [
                {"activitySegment": {
                    "startLocation": {"latitudeE7": 488_500_000, "longitudeE7": 23_500_000},
                    "endLocation": {"latitudeE7": 488_600_000, "longitudeE7": 23_600_000},
                    "duration": {
                        "startTimestamp": "2024-05-01T12:00:00Z", "endTimestamp": "2024-05-01T12:30:00Z"
                    },
                    "simplifiedRawPath": {"points": [
                        {"latE7": 488_550_000, "lngE7": 23_550_000, "timestamp": "2024-05-01T12:10:00Z"}
                    ]},
                }},
                {"placeVisit": {
                    "location": {"latitudeE7": 488_600_000, "longitudeE7": 23_600_000},
                    "duration": {
                        "startTimestampMs": str((NOON_S + 1800) * 1000),
                        "endTimestampMs": str((NOON_S + 7200) * 1000),
                    },
                }},
            ]},
        ),
        ids=("2024_MAY",), samples=4, first_s=NOON_S, dropped={SAME: 1},
    ),
    "Google Timeline, phone with Android": Foreign(
        write=document(
            "Timeline.json",
            {
                "semanticSegments": [
                    {
                        "startTime": "2024-05-01T14:00:00.000+02:00",
                        "endTime": "2024-05-01T16:00:00.000+02:00",
                        "timelinePath": [
                            {"point": "48.8500000°, 2.3500000°", "time": "2024-05-01T14:00:00.000+02:00"}
                        ],
                    },
                    {
                        "startTime": "2024-05-01T16:00:00.000+02:00",
                        "endTime": "2024-05-01T17:00:00.000+02:00",
                        "visit": {"hierarchyLevel": 0, "topCandidate": {
                            "semanticType": "HOME", "placeLocation": {"latLng": "48.8600000°, 2.3600000°"}
                        }},
                    },
                ],
                "rawSignals": [
                    {"position": {"LatLng": "48.8500000°, 2.3500000°",
                    "timestamp": "2024-05-01T12:20:00.000Z"}},
                    {"wifiScan": {"deliveryTime": "2024-05-01T12:20:00.000Z"}},
                ],
                "userLocationProfile": {},
            },
        ),
        ids=("Timeline",), samples=4, first_s=NOON_S,
    ),
    "Google Timeline, iPhone": Foreign(
        write=document(
            "location-history.json",
            [
                {
                    "startTime": "2024-05-01T12:00:00.000Z", "endTime": "2024-05-01T13:00:00.000Z",
                    "visit": {
                        "hierarchyLevel": "0", "topCandidate": {"placeLocation": "geo:48.850000,2.350000"}
                    },
                },
                {
                    "startTime": "2024-05-01T13:00:00.000Z", "endTime": "2024-05-01T14:00:00.000Z",
                    "activity": {"start": "geo:48.85,2.35", "end": "geo:48.86,2.36"},
                },
                {
                    "startTime": "2024-05-01T13:00:00.000Z", "endTime": "2024-05-01T15:00:00.000Z",
                    "timelinePath": [{
                        "point": "geo:48.855,2.355", "durationMinutesOffsetFromStartTime": "30"
                    }],
                },
            ],
        ),
        ids=("location-history",), samples=4, first_s=NOON_S, dropped={SAME: 1},
    ),
    "NMEA": Foreign(
        write=text(
            "boat.nmea",
            "$GPGGA,120000,4851.000,N,00221.000,E,1,08,0.9,545.4,M,46.9,M,,*47\r\n"
            "$GPRMC,120000,A,4851.000,N,00221.000,E,022.4,084.4,010524,003.1,W\r\n"
            "$GNRMC,120500.00,A,4852.000,N,00222.000,E,022.4,084.4,010524,003.1,W*00\r\n"
            "$GPRMC,121000,V,,,,,,,010524,,\r\n",
        ),
        ids=("boat",), samples=1, first_s=NOON_S,
        dropped={NO_PLACE: 1, "NMEA sentence with a wrong checksum or too few fields": 1},
    ),
    "AIS sentences": Foreign(
        write=text(
            "receiver.nmea",
            "\r\n".join((
                tagged(SHIP, NOON_S), tagged(LOST_SHIP, NOON_S), tagged(STATION, NOON_S),
                tagged(TWO_PARTS[0], NOON_S + 60), sentence(TWO_PARTS[1]), sentence(SHIP),
                tagged(SHIP, NOON_S)[:-1] + "0", sentence(TWO_PARTS[1]), "",
            )),
        ),
        ids=("368084090", "368084091"), samples=2, first_s=NOON_S, needs="pyais",
        dropped={
            NO_PLACE: 1, "empty or unreadable time": 1, "AIS sentence with a wrong checksum, or cut": 1,
            "AIS message without all of its sentences": 1,
        },
    ),
    "GTFS-realtime": Foreign(
        write=snapshots, ids=("bus 1", "bus 2"), samples=3, first_s=NOON_S,
        needs="google.transit.gtfs_realtime_pb2", dropped={"empty id": 1, SAME: 1},
    ),
    "OwnTracks recorder": Foreign(
        write=text(
            "rec/jane/phone/2024-05.rec",
            "2024-05-01T12:00:00Z\t*                 \t"
            '{"_type":"location","lat":48.85,"lon":2.35,"tst":1714564800,"tid":"jp"}\n'
            '2024-05-01T12:00:01Z\tlwt               \t{"_type":"lwt","tst":1714564801}\n'
            "2024-05-01T12:00:02Z\t*                 \t{cut\n",
        ),
        ids=("jane",), samples=1, first_s=NOON_S, dropped={"line with the wrong number of fields": 1},
    ),
    "OwnTracks, JSON": Foreign(
        write=document(
            "jane.json",
            {"count": 1, "data": [
                {"_type": "location", "lat": 48.85, "lon": 2.35, "tst": NOON_S, "tid": "jp"}
            ]},
        ),
        ids=("jane",), samples=1, first_s=NOON_S,
    ),
    "Traccar": Foreign(
        write=text(
            "positions.csv",
            "id,protocol,deviceid,servertime,devicetime,fixtime,valid,latitude,longitude,altitude,speed\n"
            "1,osmand,7,2024-05-01 12:00:05,2024-05-01 12:00:01,2024-05-01 12:00:00,true,48.85,2.35,30,0\n",
        ),
        ids=("7",), samples=1, first_s=NOON_S, preset="traccar",
    ),
    "GeoJSON, points with times": Foreign(
        write=document(
            "points.geojson",
            {"type": "FeatureCollection", "features": [
                {"type": "Feature", "geometry": POINT, "properties": {"user_id": "ann", "timestamp": NOON_S}},
                {"type": "Feature", "geometry": None, "properties": {"user_id": "ann", "timestamp": NOON_S}},
            ]},
        ),
        ids=("ann",), samples=1, first_s=NOON_S, dropped={NO_PLACE: 1},
    ),
    "GeoJSON, lines with times": Foreign(
        write=document(
            "track.geojson",
            {"type": "FeatureCollection", "features": [
                {
                    "type": "Feature", "geometry": {"type": "LineString", "coordinates": LINE},
                    "properties": {
                        "name": "ride", "time": TWO_TIMES[0], "coordinateProperties": {"times": TWO_TIMES}
                    },
                },
                {"type": "Feature", "geometry": {"type": "LineString", "coordinates": LINE},
                "properties": {}},
            ]},
        ),
        ids=("track",), samples=2, first_s=NOON_S,
    ),
    "JSON Lines": Foreign(
        write=text(
            "calls.jsonl",
            '{"uid":"ann","ts":"2024-05-01T12:00:00Z","lat":48.85,"lon":2.35}\n\nno json\n'
            '{"uid":"bob","ts":"2024-05-01T12:00:00Z","lat":48.85,"lon":2.35}\n',
        ),
        ids=("ann", "bob"), samples=2, first_s=NOON_S, dropped={"line that is no JSON object": 1},
    ),
    "JSON, a list of objects": Foreign(
        write=document("calls.json", [{"uid": "ann", "ts": "2024-05-01T12:00:00Z", "lat": 48.85,
        "lon": 2.35}]),
        ids=("ann",), samples=1, first_s=NOON_S,
    ),
    "MDS trips": Foreign(
        write=document(
            "trips.json",
            {"version": "1.2.0", "data": {"trips": [{
                "provider_id": "p", "device_id": "scooter-1", "trip_id": "t1", "start_time": NOON_S * 1000,
                "route": {"type": "FeatureCollection", "features": [
                    {"type": "Feature", "geometry": POINT, "properties": {"timestamp": NOON_S * 1000}},
                    {"type": "Feature", "geometry": POINT, "properties": {"timestamp": 1_714_565_100_000}},
                ]},
            }]}},
        ),
        ids=("scooter-1",), samples=2, first_s=NOON_S,
    ),
    "Arrow and Feather": Foreign(
        write=arrow_file("calls.feather"), ids=("ann", "bob"), samples=2, first_s=NOON_S
    ),
    "Arrow stream": Foreign(write=arrow_stream, ids=("ann", "bob"), samples=2, first_s=NOON_S),
    "Excel": Foreign(write=excel, ids=("7", "8"), samples=2, first_s=NOON_S, needs="python_calamine"),
    "GeoPackage": Foreign(
        write=geo(".gpkg"), ids=("ann", "bob"), samples=2, first_s=NOON_S, needs="geopandas"
    ),
    "FlatGeobuf": Foreign(write=geo(".fgb"), ids=("ann", "bob"), samples=2, first_s=NOON_S,
    needs="geopandas"),
    "Shapefile": Foreign(write=geo(".shp"), ids=("ann", "bob"), samples=2, first_s=NOON_S, needs="geopandas"),
    "SQLite": Foreign(write=sqlite, ids=("ann",), samples=1, first_s=NOON_S, dropped={NO_PLACE: 1}),
    "DuckDB": Foreign(write=duckdb_file, ids=("ann",), samples=1, first_s=NOON_S, needs="duckdb"),
    "Delta Lake": Foreign(write=delta, ids=("ann",), samples=1, first_s=NOON_S, needs="deltalake"),
    "Zip archive": Foreign(
        write=zipped("both.zip", {"1.csv": b"id,t,lat,lon\nann,2024-05-01T12:00Z,48.85,2.35\n",
                            "note.md": b"-"}),
        ids=("ann",), samples=1, first_s=NOON_S,
    ),
    "US ships (AIS)": Foreign(
        write=text(
            "AIS_2024_05_01.csv",
            "MMSI,BaseDateTime,LAT,LON,SOG,COG,Heading,VesselName,IMO,CallSign,VesselType,Status,Length,"
            "Width,Draft,"
            "Cargo,TransceiverClass\n"
            "368084090,2024-05-01T12:00:00,29.93174,-89.99243,6.0,296.2,299.0,LARRY,,WDK,57,12,23,10,3.0,"
            "57,A\n",
        ),
        ids=("368084090",), samples=1, first_s=NOON_S, preset="ais-us",
    ),
    "Danish ships (AIS)": Foreign(
        write=text(
            "aisdk-2024-05-01.csv",
            "# Timestamp,Type of mobile,MMSI,Latitude,Longitude,Navigational status,ROT,SOG\n"
            "01/05/2024 12:00:00,Class A,219000873,55.5,11.1,Under way,,10.1\n"
            "01/05/2024 12:00:01,Base Station,2190047,91,0,,,\n",
        ),
        ids=("219000873",), samples=1, first_s=NOON_S, preset="ais-dk",
        dropped={"latitude outside -90..90": 1},
    ),
    "Movebank": Foreign(
        write=text(
            "White Stork.csv",
            "event-id,visible,timestamp,location-long,location-lat,sensor-type,"
            "individual-taxon-canonical-name,"
            'tag-local-identifier,individual-local-identifier,study-name\n1,true,2024-05-01 12:00:00.000,'
            '9.1,47.7,'
            '"gps","Ciconia ciconia","91","Max","Storks"\n2,true,2024-05-01 13:00:00.000,,,"gps","Ciconia '
            'ciconia",'
            '"91","Max","Storks"\n',
        ),
        ids=("Max",), samples=1, first_s=NOON_S, preset="movebank", dropped={NO_PLACE: 1},
    ),
    "Foursquare": Foreign(
        write=text(
            "dataset_TSMC2014_NYC.txt",
            "470\t49bbd6c0f964a520f4531fe3\t4bf58dd8d48988d127951735\tCafé\t40.7198\t-74.0025\t-240\t"
            "Wed May 01 12:00:00 +0000 2024\n",
            "latin-1",
        ),
        ids=("470",), samples=1, first_s=NOON_S, preset="foursquare",
    ),
    "Gowalla": Foreign(
        write=text(
            "loc-gowalla_totalCheckins.txt",
            "0\t2024-05-01T12:00:00Z\t30.2359091167\t-97.7951395833\t22847\n"
            "0\t2024-05-01T12:30:00Z\t30.2691029532\t-97.7493953705\t420315\n",
        ),
        ids=("0",), samples=2, first_s=NOON_S, preset="gowalla",
    ),
    "New York taxis with places": Foreign(
        write=text(
            "yellow_tripdata_2015-05.csv",
            "VendorID,tpep_pickup_datetime,tpep_dropoff_datetime,passenger_count,trip_distance,"
            "pickup_longitude,"
            "pickup_latitude,RateCodeID,store_and_fwd_flag,dropoff_longitude,dropoff_latitude,payment_type\n"
            "2,2024-05-01 08:00:00,2024-05-01 08:20:00,1,1.59,-73.9938,40.7501,1,N,-73.9747,40.7506,1\n"
            "1,2024-05-01 09:00:00,2024-05-01 09:10:00,1,1.59,0,0,1,N,-73.9747,40.7506,1\n",
        ),
        ids=("yellow_tripdata_2015-05.csv 1", "yellow_tripdata_2015-05.csv 2"), samples=3, first_s=NOON_S,
        preset="taxi-ny", dropped={"position (0, 0)": 1},
    ),
    "New York taxis with zones": Foreign(
        write=with_towers(
            "green_tripdata.csv",
            "VendorID,lpep_pickup_datetime,lpep_dropoff_datetime,PULocationID,DOLocationID\n"
            "2,2024-05-01 08:00:00,2024-05-01 08:20:00,1,2\n2,2024-05-01 08:00:00,2024-05-01 "
            "08:20:00,1,264\n",
        ),
        ids=("green_tripdata.csv 1", "green_tripdata.csv 2"), samples=3, first_s=NOON_S,
        preset="taxi-ny-zones", dropped={"cell that is not in the table of cells": 1},
        options={"cells": "towers.csv"},
    ),
    "Citi Bike": Foreign(
        write=text(
            "202405-citibike-tripdata.csv",
            "ride_id,rideable_type,started_at,ended_at,start_station_name,start_station_id,end_station_name,"
            "end_station_id,start_lat,start_lng,end_lat,end_lng,member_casual\n"
            "A1,classic_bike,2024-05-01 12:00:00,2024-05-01 12:11:00,A,1,B,2,40.71,-74.0,,,member\n",
        ),
        ids=("202405-citibike-tripdata.csv 1",), samples=1, first_s=NOON_S, preset="citi-bike",
        dropped={NO_PLACE: 1},
    ),
    "Bike stations": Foreign(
        write=with_towers(
            "trips.csv",
            "trip_id,start_station_id,end_station_id,started_at,ended_at,member_casual\n"
            "A1,1,2,2024-05-01 12:00:00,2024-05-01 12:11:00,member\n"
            "A2,2,99,2024-05-01 12:00:00,2024-05-01 12:09:00,casual\n",
        ),
        ids=("trips.csv 1", "trips.csv 2"), samples=3, first_s=NOON_S, preset="citi-bike-stations",
        dropped={"cell that is not in the table of cells": 1}, options={"cells": "towers.csv"},
    ),
    "Citi Bike until 2021": Foreign(
        write=text(
            "201307-citibike-tripdata.csv",
            '"tripduration","starttime","stoptime","start station id","start station name","start station '
            'latitude",'
            '"start station longitude","end station id","end station name","end station latitude",'
            '"end station longitude","bikeid","usertype","birth year","gender"\n"634","2024-05-01 08:00:00",'
            '"2024-05-01 08:10:34","164","E 47 St","40.7532","-73.9703","504","1 Ave","40.7322","-73.9816",'
            '"16950",'
            '"Customer","\\N","0"\n',
        ),
        ids=("16950",), samples=2, first_s=NOON_S, preset="citi-bike-2013",
    ),
    "Porto": Foreign(
        write=text(
            "train.csv",
            '"TRIP_ID","CALL_TYPE","ORIGIN_CALL","ORIGIN_STAND","TAXI_ID","TIMESTAMP","DAY_TYPE",'
            '"MISSING_DATA",'
            f'"POLYLINE"\n"1","C","","","20000589","{NOON_S}","A","False","'
            + str([[-8.61 + step / 1000, 41.14] for step in range(9)])
            + f'"\n"2","C","","","20000590","{NOON_S}","A","True","[]"\n"3","C","","","20000590",'
            f'"{NOON_S}","A",'
            '"False","[[1,"\n',
        ),
        ids=("20000589",), samples=9, first_s=NOON_S, preset="porto",
        dropped={"trip without points": 1, "trip whose polyline cannot be read": 1},
    ),
    "MobilityDB": Foreign(
        write=text(
            "trips.csv",
            'id,tgeompoint\nann,"SRID=4326;[POINT(2.35 48.85)@2024-05-01 12:00:00+00, '
            'POINT(2.36 48.86)@2024-05-01 12:05:00+00)"\nbob,POINT(2.35 48.85)@2024-05-01 14:00:00+02\n'
            "bob,POINT EMPTY\n",
        ),
        ids=("ann", "bob"), samples=3, first_s=NOON_S, preset="mobilitydb",
        dropped={"moving point that cannot be read": 1},
    ),
    "T-Drive": Foreign(
        write=text(
            "taxi_log/1.txt",
            "1,2024-05-01 20:00:00,116.51172,39.92123\n1,2024-05-01 20:10:00,116.51135,39.93883\n",
        ),
        ids=("1",), samples=2, first_s=NOON_S, preset="t-drive",
    ),
    "CRAWDAD cabs": Foreign(
        write=text(
            "cabspottingdata/new_abboip.txt",
            f"37.75134 -122.39488 0 {NOON_S + 60}\n37.75136 -122.39527 1 {NOON_S}\n",
        ),
        ids=("new_abboip",), samples=2, first_s=NOON_S, preset="crawdad-cabs",
    ),
    "D4D set 2": Foreign(
        write=with_towers(
            "POS_SAMPLE_0.TSV.txt", "1\t2024-05-01 12:00:00\t1\n1\t2024-05-01 13:00:00\t2\n"
            "2\t2024-05-01 12:00:00\t-1\n"
        ),
        ids=("1",), samples=2, first_s=NOON_S, preset="d4d-2", options={"cells": "towers.csv"},
        dropped={"cell that is not in the table of cells": 1},
    ),
    "D4D set 3": Foreign(
        write=with_towers("SUBPREF_POS_SAMPLE.txt", "1\t2024-05-01 12:00:00\t2\n"),
        ids=("1",), samples=1, first_s=NOON_S, preset="d4d-3",
        options={"cells": "towers.csv", "preset": "d4d-3"},
    ),
    "YJMob100K": Foreign(
        write=text(
            "yjmob100k-dataset1.csv", "uid,d,t,x,y\n0,0,1,79,86\n0,0,2,79,86\n1,3,47,200,1\n1,4,0,999,999\n"
        ),
        ids=("0", "1"), samples=3, first_s=1800, preset="yjmob100k", dropped={NO_PLACE: 1},
    ),
    "multimno": Foreign(
        write=multimno,
        ids=("0x" + "ff01" * 16,), samples=1, first_s=NOON_S, preset="multimno-bronze",
        options={"cells": "towers.csv"}, dropped={"cell that is not in the table of cells": 1},
    ),
    "No header, named columns": Foreign(
        write=text("plain.txt", "x 2024-05-01T12:00:00Z 48.85 2.35 ann\n"),
        ids=("ann",), samples=1, first_s=NOON_S, options={"columns": "_,t,lat,lon,uid"},
    ),
}  # fmt: skip
