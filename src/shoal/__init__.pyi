"""The public names of shoal: one row each, in the one list there is.

``shoal/__init__.py`` reads this file to know what it offers and where each name lives; type checkers and
editors read it as they read every stub. To publish a name, add its row.
"""

from shoal.attacks import Attacked as Attacked
from shoal.attacks import attack as attack
from shoal.attacks.rate import Rate as Rate
from shoal.comparison.compare import compare as compare
from shoal.comparison.found import Comparison as Comparison
from shoal.comparison.study import Study as Study
from shoal.comparison.study import read_study as read_study
from shoal.errors import ClaimError as ClaimError
from shoal.errors import EngineError as EngineError
from shoal.errors import InputError as InputError
from shoal.errors import InUseError as InUseError
from shoal.errors import MissingExtraError as MissingExtraError
from shoal.errors import MisuseError as MisuseError
from shoal.errors import NothingLeftError as NothingLeftError
from shoal.errors import OtherJobError as OtherJobError
from shoal.errors import OutputError as OutputError
from shoal.errors import ShoalError as ShoalError
from shoal.io.description import Description as Description
from shoal.io.description import describe as describe
from shoal.io.formats.street_files import read_streets as read_streets
from shoal.io.formats.tile_files import TileFile as TileFile
from shoal.io.formats.tile_files import read_tiles as read_tiles
from shoal.io.reading import read as read
from shoal.measures.k_gap import KGap as KGap
from shoal.measures.k_gap import k_gap as k_gap
from shoal.measures.k_gap import k_gaps as k_gaps
from shoal.measures.k_gap import tail_weight_index as tail_weight_index
from shoal.measures.stretch import Caps as Caps
from shoal.measures.stretch import fingerprint_stretch as fingerprint_stretch
from shoal.measures.stretch import sample_stretch as sample_stretch
from shoal.measures.trajectory_distance import TrajectoryDistances as TrajectoryDistances
from shoal.measures.trajectory_distance import trajectory_distances as trajectory_distances
from shoal.methods import METHODS as METHODS
from shoal.methods import Method as Method
from shoal.methods.co_location.nwa import Nwa as Nwa
from shoal.methods.co_location.w4m import W4m as W4m
from shoal.methods.glove.glove import Glove as Glove
from shoal.methods.k_merge import k_merge as k_merge
from shoal.methods.kte_hide.kte_hide import KteHide as KteHide
from shoal.methods.static import StaticGeneralization as StaticGeneralization
from shoal.methods.swapping.reach_locations import ReachLocations as ReachLocations
from shoal.methods.swapping.swap_locations import SwapLocations as SwapLocations
from shoal.model.claims import CLAIMS as CLAIMS
from shoal.model.claims import KAnonymity as KAnonymity
from shoal.model.claims import KDeltaAnonymity as KDeltaAnonymity
from shoal.model.claims import KteAnonymity as KteAnonymity
from shoal.model.claims import LocationPrivacy as LocationPrivacy
from shoal.model.claims import TrajectoryPrivacy as TrajectoryPrivacy
from shoal.model.release import Boxes as Boxes
from shoal.model.release import Linkage as Linkage
from shoal.model.release import Points as Points
from shoal.model.release import Release as Release
from shoal.model.streets import StreetGraph as StreetGraph
from shoal.model.trajectories import Grid as Grid
from shoal.model.trajectories import Trajectories as Trajectories
from shoal.model.verdicts import Finding as Finding
from shoal.model.verdicts import Verdict as Verdict
from shoal.publishing.checking import Checked as Checked
from shoal.publishing.checking import check as check
from shoal.publishing.in_blocks import InBlocks as InBlocks
from shoal.publishing.promised import verify_folder as verify_folder
from shoal.publishing.publish import Publication as Publication
from shoal.publishing.publish import assess as assess
from shoal.publishing.publish import publish as publish
from shoal.publishing.writing import PublishOptions as PublishOptions
from shoal.release_folder.folder import read_linkage as read_linkage
from shoal.release_folder.folder import read_release as read_release
from shoal.release_folder.statement import Statement as Statement
from shoal.release_folder.statement import read_statement as read_statement
from shoal.report.facts.ground import MapGround as MapGround
from shoal.runtime.randomness import Randomness as Randomness
from shoal.runtime.run import Run as Run
from shoal.synthetic import Stations as Stations
from shoal.synthetic import read_stations as read_stations
from shoal.synthetic import synthesize as synthesize
from shoal.utility import measure as measure
from shoal.utility.measuring import Measured as Measured
from shoal.utility.measuring import Measurement as Measurement
from shoal.verification import verify as verify
from shoal.version import __version__ as __version__

__all__: list[str]
